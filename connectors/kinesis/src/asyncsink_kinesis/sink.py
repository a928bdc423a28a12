"""The sink: how requests are made of entries, and what their answers mean."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, Schema
from asyncsink.errors import ConfigurationError
from asyncsink.failures import ErrorTable
from asyncsink.limits.description import RateLimit
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_kinesis.converter import KinesisConverter
from asyncsink_kinesis.entry import (
    MAX_RECORD_BYTES,
    MAX_RECORDS,
    MAX_REQUEST_BYTES,
    KinesisEntry,
    size_in_bytes,
)
from asyncsink_kinesis.entry_serializer import KinesisEntrySerializer
from asyncsink_kinesis.errors import ERRORS
from asyncsink_kinesis.options import KinesisOptions

if TYPE_CHECKING:
    from asyncsink_kinesis.client import KinesisClient


class KinesisSink(AsyncSink[Any, KinesisEntry, "KinesisClient"]):
    """Sends rows as records to one stream: ``KinesisSink(stream_name="clicks")``.

    The service judges each record by itself: those that it does not store go again, and no other. Delivery is at least
    once: a request whose answer is lost is sent again. Elements are rows as mappings, payloads as bytes or strings, or
    :class:`KinesisEntry` where the keys are yours to choose.

    :raises ConfigurationError: an option breaks its rule, or a limit exceeds what the service takes
    """

    options_type: ClassVar[type[KinesisOptions]] = KinesisOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(rate_limit=RateLimit.paced())
    errors: ClassVar[ErrorTable] = ERRORS
    entry_serializer: ClassVar[KinesisEntrySerializer] = KinesisEntrySerializer()

    options: KinesisOptions

    _stream_limit: int | None = None
    """Bytes of a record, as the stream has told them in this process."""

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        for field, option, value, limit in (
            ("max_batch_size", "maxBatchSize", config.max_batch_size, MAX_RECORDS),
            ("max_batch_size_in_bytes", "maxBatchSizeInBytes", config.max_batch_size_in_bytes, MAX_REQUEST_BYTES),
            ("max_record_size_in_bytes", "maxRecordSizeInBytes", config.max_record_size_in_bytes, MAX_RECORD_BYTES),
        ):
            if value > limit:
                unit = "records a request" if field == "max_batch_size" else "bytes"
                raise ConfigurationError(
                    f"{field} (option {option}) = {value} exceeds what Kinesis takes, {limit} {unit}; lower it"
                )

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[KinesisClient]:
        from asyncsink_kinesis.client import opened

        return opened(self.options, self.config)

    def connected(self, client: KinesisClient) -> None:
        self._stream_limit = client.stream.max_record_size_in_bytes

    def max_record_size_in_bytes(self, config: AsyncSinkWriterConfig) -> int:
        """The limit of the configuration; where that is the default, the stream's own, if a request can hold it."""
        given, told = config.max_record_size_in_bytes, self._stream_limit
        if told is None or given != self.defaults.max_record_size_in_bytes:
            return given
        return min(told, config.max_batch_size_in_bytes)

    def converter(self, schema: Schema | None) -> KinesisConverter:
        return KinesisConverter(schema, self.options)

    def size_in_bytes(self, entry: KinesisEntry) -> int:
        return size_in_bytes(entry)

    def sizes(self, entries: Sequence[KinesisEntry]) -> Sequence[int]:
        return [size_in_bytes(entry) for entry in entries]

    def key_of(self, entry: KinesisEntry) -> Hashable:
        return entry.partition_key

    async def submit_request_entries(
        self, entries: RequestEntries[KinesisEntry], client: KinesisClient
    ) -> RequestResult:
        from asyncsink_kinesis.put import put_records

        return await put_records(entries, client, self.options)
