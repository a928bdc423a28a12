"""The simplified Kinesis sink: an event becomes a request entry, and entries become a PutRecords request."""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

from botocore import exceptions, loaders

import asyncsink
from asyncsink import FailureKind, RequestEntries, RequestError, RequestResult

THROTTLED = ["ProvisionedThroughputExceededException", "ThrottlingException", "KMSThrottlingException"]
TROUBLE = ["InternalFailure", "InternalFailureException", "ServiceUnavailable", "500", "502", "503"]
DENIED = ["AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException"]
MODELS = loaders.create_loader()  # it keeps what it has read, and reading holds up the event loop


@dataclass(frozen=True, kw_only=True)
class SimpleKinesisOptions(asyncsink.ConnectorOptions):
    stream: str = asyncsink.option(doc="Name of the stream.")
    region: str = asyncsink.option(doc="AWS region, such as eu-central-1.")
    endpoint: str | None = asyncsink.option(None, doc="Another address of the service, such as a local one's.")


@dataclass(frozen=True)
class PutRecordsRequestEntry:
    """What goes into a request for one event, by the names of the service."""

    Data: bytes
    PartitionKey: str


class EventConverter(asyncsink.ElementConverter[Any, PutRecordsRequestEntry]):
    def apply(self, element: Any, context: asyncsink.WriteContext) -> PutRecordsRequestEntry:
        data = str(element).encode()
        return PutRecordsRequestEntry(Data=data, PartitionKey=str(crc32(data)))


class SimpleKinesisSink(asyncsink.AsyncSink[Any, PutRecordsRequestEntry, Any]):
    """Events to a Kinesis stream by PutRecords, at least once."""

    options_type = SimpleKinesisOptions
    entry_serializer = asyncsink.DataclassSerializer(PutRecordsRequestEntry)
    defaults = asyncsink.AsyncSinkWriterConfig(max_batch_size=500, max_batch_size_in_bytes=5 << 20)
    errors = asyncsink.ErrorTable.of(
        throttled=THROTTLED,
        retryable=TROUBLE,
        rejected=["ValidationException", "InvalidArgumentException", "SerializationException"],
        fatal=dict.fromkeys(DENIED, "Give the tasks credentials that allow kinesis:PutRecords."),
        exceptions=dict.fromkeys([exceptions.ConnectionError, exceptions.HTTPClientError], FailureKind.RETRYABLE),
    )

    def connect(self, context: asyncsink.InitContext) -> Any:
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session

        once = AioConfig(retries={"total_max_attempts": 1}, max_pool_connections=self.config.max_in_flight_requests)
        session = get_session()
        session.register_component("data_loader", MODELS)
        return session.create_client("kinesis", self.options.region, endpoint_url=self.options.endpoint, config=once)

    def converter(self, schema: asyncsink.Schema | None) -> EventConverter:
        return EventConverter()

    def size_in_bytes(self, entry: PutRecordsRequestEntry) -> int:
        return len(entry.Data) + len(entry.PartitionKey)

    async def submit_request_entries(
        self, entries: RequestEntries[PutRecordsRequestEntry], client: Any
    ) -> RequestResult:
        # construct and run the PutRecords request
        try:
            response = await client.put_records(StreamName=self.options.stream, Records=[*map(vars, entries)])
        except exceptions.ClientError as error:
            # the entire batch request failed; what that means for its entries stands in `errors`
            raise RequestError(error.response["Error"]["Code"], error.response["Error"]["Message"]) from error

        # check the response of the PutRecords request
        if response["FailedRecordCount"] > 0:
            # some request entries in the batch request were not persisted and need to be retried
            records = response["Records"]
            return RequestResult.from_codes((each.get("ErrorCode"), each.get("ErrorMessage", "")) for each in records)

        # all request entries of the batch request have been successfully persisted
        return RequestResult.OK
