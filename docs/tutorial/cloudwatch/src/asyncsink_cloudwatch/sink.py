"""The connector: its options, its entries, what its service's limits and errors are, and how a request is sent."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore import exceptions, loaders

import asyncsink
from asyncsink import FailureKind, RequestEntries, RequestError, RequestResult

FIELDS = {"name": "MetricName", "value": "Value", "unit": "Unit", "timestamp": "Timestamp", "dimensions": "Dimensions"}
TROUBLE = ["InternalServiceError", "InternalServiceFault", "InternalFailure", "ServiceUnavailable", "500", "502", "503"]
DENIED = ["AccessDenied", "AccessDeniedException", "InvalidClientTokenId", "UnrecognizedClientException"]
MODELS = loaders.create_loader()  # what it has read it keeps, and reading holds up the event loop


@dataclass(frozen=True, kw_only=True)
class CloudWatchOptions(asyncsink.ConnectorOptions):
    namespace: str = asyncsink.option(doc="Namespace of the metrics, such as Shop/Orders.")
    region: str = asyncsink.option(doc="AWS region, such as eu-central-1.")
    endpoint: str | None = asyncsink.option(None, doc="Another address of the service, such as a VPC endpoint's.")


class MetricConverter(asyncsink.ElementConverter[Any, bytes]):
    def apply(self, element: Any, context: asyncsink.WriteContext) -> bytes:
        data = {FIELDS[column]: value for column, value in element.items() if value is not None}
        data["Dimensions"] = [{"Name": key, "Value": text} for key, text in dict(data.get("Dimensions", ())).items()]
        return json.dumps(data | {"Value": float(data["Value"])}, default=datetime.isoformat, allow_nan=False).encode()


class CloudWatchSink(asyncsink.AsyncSink[Any, bytes, Any]):
    """Data points by PutMetricData, at least once: one whose answer was lost may count twice."""

    options_type = CloudWatchOptions
    entry_serializer = asyncsink.BytesSerializer()
    defaults = asyncsink.AsyncSinkWriterConfig(
        max_batch_size=1000, max_batch_size_in_bytes=999_000, max_record_size_in_bytes=40_000
    )
    errors = asyncsink.ErrorTable.of(
        throttled=["Throttling", "ThrottlingException", "RequestLimitExceeded"],
        retryable=TROUBLE,
        rejected=["InvalidParameterValue", "InvalidParameterCombination", "MissingParameter", "ValidationError", "413"],
        fatal=dict.fromkeys(DENIED, "Give the tasks credentials that allow cloudwatch:PutMetricData."),
        exceptions=dict.fromkeys([exceptions.ConnectionError, exceptions.HTTPClientError], FailureKind.RETRYABLE)
        | {exceptions.ParamValidationError: FailureKind.REJECTED},
    )

    def connect(self, context: asyncsink.InitContext) -> Any:
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session

        once = AioConfig(retries={"total_max_attempts": 1}, max_pool_connections=self.config.max_in_flight_requests)
        session = get_session()
        session.register_component("data_loader", MODELS)
        return session.create_client("cloudwatch", self.options.region, endpoint_url=self.options.endpoint, config=once)

    def converter(self, schema: asyncsink.Schema | None) -> MetricConverter:
        if schema and (wrong := {"name", "value"} ^ ({*schema.names} - {"unit", "timestamp", "dimensions"})):
            raise asyncsink.SchemaError(f"columns {sorted(wrong)} are missing or unknown; a metric has {[*FIELDS]}")
        return MetricConverter()

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry) + len(", ")

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: Any) -> RequestResult:
        try:
            await client.put_metric_data(Namespace=self.options.namespace, MetricData=[*map(json.loads, entries)])
        except exceptions.ClientError as error:
            raise RequestError(error.response["Error"]["Code"], error.response["Error"]["Message"]) from error
        return RequestResult.OK
