"""The sink: how requests are made of entries, and what their answers mean."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, Schema
from asyncsink.failures import ErrorTable
from asyncsink.limits.description import RateLimit
from asyncsink.metrics import UNREGISTERED, MetricGroup
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_kinesis.aggregation.sizes import size_in_frame
from asyncsink_kinesis.converter import KinesisConverter
from asyncsink_kinesis.entry import KinesisEntry, size_in_bytes
from asyncsink_kinesis.entry_serializer import KinesisEntrySerializer
from asyncsink_kinesis.errors import ERRORS
from asyncsink_kinesis.limits import check_limits
from asyncsink_kinesis.options import KinesisOptions
from asyncsink_kinesis.shards.limits import aggregated, per_shard

if TYPE_CHECKING:
    from asyncsink.state import BufferedRequestState
    from asyncsink.writer import AsyncSinkWriter
    from asyncsink_kinesis.client import KinesisClient
    from asyncsink_kinesis.shards.ranges import ShardRanges


class KinesisSink(AsyncSink[Any, KinesisEntry, "KinesisClient"]):
    """Sends rows as records to one stream: ``KinesisSink(stream_name="clicks")``.

    The service judges each record by itself: those that it does not store go again, and no other. Delivery is at least
    once: a request whose answer is lost is sent again. Elements are rows as mappings, payloads as bytes or strings, or
    :class:`KinesisEntry` where the keys are yours to choose.

    :raises ConfigurationError: an option breaks its rule, or a limit exceeds what the service takes
    """

    options_type: ClassVar[type[KinesisOptions]] = KinesisOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(rate_limit=RateLimit.paced())
    not_offered: ClassVar[Mapping[str, str]] = {
        "batching": "the service judges each record by itself, and those that it did not store go in other requests",
    }
    errors: ClassVar[ErrorTable] = ERRORS
    entry_serializer: ClassVar[KinesisEntrySerializer] = KinesisEntrySerializer()

    options: KinesisOptions

    _stream_limit: int | None = None
    """Bytes of a record, as the stream has told them in this process."""
    _shards: ShardRanges | None = None
    """The shards by which the records of a writer are routed."""

    def default_config(self) -> AsyncSinkWriterConfig:
        options, found = self.options, self.defaults
        if options.by_shard:
            found = aggregated(found) if options.aggregation == "kpl" else per_shard(found)
        return replace(found, max_batch_size=1, ordering="key") if options.strict_ordering else found

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        check_limits(self.options, config)

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[KinesisClient]:
        from asyncsink_kinesis.client import opened

        return opened(self.options, self.config)

    def create_writer(
        self, context: InitContext, states: Sequence[BufferedRequestState[KinesisEntry]] = ()
    ) -> AsyncSinkWriter[Any, KinesisEntry]:
        return super(KinesisSink, self._of_a_writer(self.config)).create_writer(context, states)

    def open(
        self,
        config: AsyncSinkWriterConfig | None = None,
        states: Sequence[BufferedRequestState[KinesisEntry]] = (),
        metric_group: MetricGroup = UNREGISTERED,
    ) -> AsyncSinkWriter[Any, KinesisEntry]:
        return super(KinesisSink, self._of_a_writer(config or self.config)).open(config, states, metric_group)

    def _of_a_writer(self, config: AsyncSinkWriterConfig) -> Self:
        """A copy for one writer: what its client tells is of no other's."""
        own = copy(self)
        own.config = config
        return own

    def connected(self, client: KinesisClient) -> None:
        self._stream_limit, self._shards = client.stream.max_record_size_in_bytes, client.shards
        if client.shards is not None and self.config.ordering == "key":
            # A writer keeps the order of a key within a route. By the new shards of a resharded stream a row of a key
            # would overtake those that wait by the old one.
            self._shards = client.shards.now()

    def __getstate__(self) -> dict[str, Any]:
        """Without what was told in this process: it belongs to a client and its event loop."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_shards", "_stream_limit")}

    def max_record_size_in_bytes(self, config: AsyncSinkWriterConfig) -> int:
        """The limit of the configuration; where that is the default, the stream's own, if a request can hold it.

        Whether somebody has set it to what is the default anyway is not to be seen.
        """
        given, told = config.max_record_size_in_bytes, self._stream_limit
        if told is None or given != self.defaults.max_record_size_in_bytes:
            return given
        return min(told, config.max_batch_size_in_bytes)

    def converter(self, schema: Schema | None) -> KinesisConverter:
        return KinesisConverter(schema, self.options, self.routes_of if self.has_routes else None)

    def size_in_bytes(self, entry: KinesisEntry) -> int:
        limit = self.options.frame_size_in_bytes
        return size_in_bytes(entry) if limit is None else size_in_frame(entry, limit)

    def sizes(self, entries: Sequence[KinesisEntry]) -> Sequence[int]:
        limit = self.options.frame_size_in_bytes
        if limit is None:
            return [size_in_bytes(entry) for entry in entries]
        return [size_in_frame(entry, limit) for entry in entries]

    def key_of(self, entry: KinesisEntry) -> Hashable:
        return entry.partition_key

    @property
    def has_routes(self) -> bool:
        return self.options.by_shard

    def route_of(self, entry: KinesisEntry) -> Hashable | None:
        """The shard, where each is limited by itself."""
        shards = self._shards
        return None if shards is None else shards.shard_of(entry.partition_key, entry.explicit_hash_key)

    def routes_of(self, keys: Any, hash_keys: Any | None) -> tuple[Sequence[Hashable | None], Any]:
        """The routes of the records of an Arrow batch, as :meth:`route_of` says them of each."""
        if self._shards is not None:
            return self._shards.shards_of(keys, hash_keys)
        import numpy as np

        return (None,), np.zeros(len(keys), np.uint8)

    async def submit_request_entries(
        self, entries: RequestEntries[KinesisEntry], client: KinesisClient
    ) -> RequestResult:
        if self.options.aggregation == "kpl":
            from asyncsink_kinesis.aggregation.put import put_frames

            return await put_frames(entries, client, self.options)
        if self.options.strict_ordering:
            from asyncsink_kinesis.strict_order import put_in_order

            return await put_in_order(entries, client, self.options)
        from asyncsink_kinesis.put import put_records

        return await put_records(entries, client, self.options)
