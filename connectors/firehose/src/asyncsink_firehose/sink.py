"""The sink: how requests are made of rows, and what their answers mean."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, Schema
from asyncsink.errors import ConfigurationError, RequestError
from asyncsink.failures import ErrorTable
from asyncsink.limits.description import RateLimit
from asyncsink.request import RequestEntries, RequestResult
from asyncsink.serializer import BytesSerializer
from asyncsink_aws.service_limits import check_at_most
from asyncsink_firehose.answers import result_of
from asyncsink_firehose.converter import FirehoseConverter
from asyncsink_firehose.errors import ERRORS, refined
from asyncsink_firehose.limits import MAX_RECORD_BYTES, MAX_RECORDS, MAX_REQUEST_BYTES
from asyncsink_firehose.options import FirehoseOptions
from asyncsink_firehose.packing import records_of

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

_PACKED_ROWS = 16_000
"""Rows of a packed request: 1.6 MB of 100 bytes each; where they have 262 bytes the request's 4 MiB bind."""
_PACKED_RECORDS = 90
"""Records of a packed request that are full by their rows, at most: enough remain for those that are full by bytes."""


class FirehoseSink(AsyncSink[Any, bytes, "AioBaseClient"]):
    """Sends rows to one delivery stream: ``FirehoseSink(delivery_stream="clicks", region="eu-west-1")``.

    An entry is a row as it stands in its record, the delimiter included. Firehose answers for each record: what it
    does not store goes again by itself. Delivery is at least once. Elements are rows as mappings, or payloads as bytes
    or strings. With ``packing="rows"`` a record holds many rows, and one that fails is the failure of each of them.

    :raises ConfigurationError: an option breaks its rule, or a limit is more than the service takes
    """

    options_type: ClassVar[type[FirehoseOptions]] = FirehoseOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(
        max_batch_size=MAX_RECORDS,
        max_batch_size_in_bytes=MAX_REQUEST_BYTES,
        max_record_size_in_bytes=MAX_RECORD_BYTES,
    )
    not_offered: ClassVar[Mapping[str, str]] = {
        "batching": "the service judges each record by itself, and those that it did not store go in other requests",
    }
    errors: ClassVar[ErrorTable] = ERRORS
    entry_serializer: ClassVar[BytesSerializer] = BytesSerializer()

    options: FirehoseOptions

    def default_config(self) -> AsyncSinkWriterConfig:
        packing = self.options.packed
        if packing is None:
            return self.defaults
        rows = min(_PACKED_ROWS, _PACKED_RECORDS * packing.max_rows)
        return replace(
            self.defaults,
            max_batch_size=rows,
            max_buffered_requests=10 * _PACKED_ROWS,
            max_batch_size_in_bytes=min(MAX_REQUEST_BYTES, packing.largest_request(rows)),
            # Ten rows more a success, as without packing, would take hours to make up for one throttle.
            rate_limit=RateLimit.aimd(unit="bytes"),
        )

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        check = partial(check_at_most, config, service="Firehose")
        check("max_batch_size_in_bytes", MAX_REQUEST_BYTES, "bytes (4 MiB) a request")
        check("max_record_size_in_bytes", MAX_RECORD_BYTES, "bytes (1000 KiB) a record")
        packing = self.options.packed
        if packing is None:
            check("max_batch_size", MAX_RECORDS, "records a request")
            return
        rows, size = config.max_batch_size, config.max_batch_size_in_bytes
        if packing.most_records(rows, size) > MAX_RECORDS:
            raise ConfigurationError(
                f"packed records of {packing.max_bytes} bytes (option packedRecordSize) and {packing.max_rows} rows "
                f"(packedRecordRows) may be more than the {MAX_RECORDS} that Firehose takes of a request of {rows} "
                f"rows (max_batch_size, option maxBatchSize) and {size} bytes (max_batch_size_in_bytes, option "
                f"maxBatchSizeInBytes); {_remedy(packing.largest_request(rows))}"
            )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AioBaseClient]:
        from asyncsink_aws.client import connect
        from asyncsink_firehose.stream import check_stream
        from asyncsink_firehose.wire import decode_answer

        options, config = self.options, self.config
        decode = decode_answer if options.ready_bodies else None
        requests = config.max_in_flight_requests
        async with connect(options, "firehose", max_in_flight=requests, ready_bodies=decode) as client:
            await check_stream(client, options, timeout_s=config.retry.timeout_s)
            yield client

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[AioBaseClient]:
        return self._connected()

    def converter(self, schema: Schema | None) -> FirehoseConverter:
        return FirehoseConverter(schema, self.options.delimiter_bytes)

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry)

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: AioBaseClient) -> RequestResult:
        from asyncsink_aws.request_errors import as_request_error
        from asyncsink_firehose.wire import OPERATION, parameters

        options, block = self.options, entries.block
        cuts = range(len(block) + 1) if options.packed is None else options.packed.cuts(block)
        records = list(block) if options.packed is None else records_of(block, cuts)
        request = parameters(options.stream.short_name, records, ready=options.ready_bodies)
        try:
            with as_request_error("firehose", OPERATION, options):
                answer = await client.put_record_batch(**request)
        except RequestError as error:
            raise refined(error) from error.__cause__
        return result_of(answer, cuts)


def _remedy(largest: int) -> str:
    if largest == 0:
        return "raise packedRecordRows, or lower maxBatchSize"
    return f"raise packedRecordSize, or lower maxBatchSizeInBytes to {largest}"
