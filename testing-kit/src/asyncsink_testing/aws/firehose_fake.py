"""Amazon Data Firehose, as far as a sink sees it: its limits and its sentences.

Limits and codes are those of the API reference of PutRecordBatch, PutRecord and DescribeDeliveryStream.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from itertools import count
from typing import Any, Literal

from asyncsink_testing.aws.calls import AwsCall, answered, refused
from asyncsink_testing.aws.fake import ACCOUNT, REGION, AwsFake, at_most, data_in, data_refusal, validation_error
from asyncsink_testing.faults import Fault
from asyncsink_testing.http_server import Reaction

MAX_RECORDS = 500
MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RECORD_BYTES = 1000 * 1024

Source = Literal["DirectPut", "KinesisStreamAsSource", "MSKAsSource"]


class FirehoseFake(AwsFake):
    """One delivery stream, which keeps its records in order.

    :param source: what feeds it; one that another stream feeds refuses what is put into it
    """

    service, target, several, results = "firehose", "Firehose_20150804", "PutRecordBatch", "RequestResponses"
    throttled = ("ServiceUnavailableException", 503)

    def __init__(
        self,
        name: str = "rows",
        *,
        source: Source = "DirectPut",
        region: str = REGION,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, region, secrets, MAX_RECORD_BYTES)
        self.source = source
        self.records: list[bytes] = []

    @property
    def arn(self) -> str:
        return f"arn:aws:firehose:{self.region}:{ACCOUNT}:deliverystream/{self.name}"

    def describe(self, call: AwsCall) -> Reaction | None:
        if call.operation != "DescribeDeliveryStream":
            return None
        told = {
            "DeliveryStreamName": self.name,
            "DeliveryStreamARN": self.arn,
            "DeliveryStreamStatus": "ACTIVE",
            "DeliveryStreamType": self.source,
            "VersionId": "1",
            "CreateTimestamp": 1_700_000_000.0,
            "Destinations": [],
            "HasMoreDestinations": False,
        }
        return self._missing(call) or answered({"DeliveryStreamDescription": told})

    def check(self, call: AwsCall) -> Reaction | None:
        records = self.records_in(call)
        sizes = [len(data_in(each)) for each in records]
        if not sizes:
            return validation_error("records", "Member must have length greater than or equal to 1")
        if len(sizes) > MAX_RECORDS:
            return validation_error("records", at_most(MAX_RECORDS))
        broken = next(filter(None, map(data_refusal, count(1), records)), None)
        if broken is not None:
            return broken
        large = next((at for at, size in enumerate(sizes, 1) if size > MAX_RECORD_BYTES), None)
        if large is not None:
            return validation_error(f"records.{large}.member.data", at_most(MAX_RECORD_BYTES))
        if sum(sizes) > MAX_REQUEST_BYTES:
            return refused("InvalidArgumentException", "Records size exceeds 4 MB limit")
        return self._missing(call) or self._fed_otherwise()

    def _missing(self, call: AwsCall) -> Reaction | None:
        name = call.parameters.get("DeliveryStreamName")
        if name == self.name:
            return None
        return refused("ResourceNotFoundException", f"Firehose {name} under account {ACCOUNT} not found.")

    def _fed_otherwise(self) -> Reaction | None:
        if self.source == "DirectPut":
            return None
        message = f"This operation is not permitted on {self.source} delivery stream type."
        return refused("InvalidArgumentException", message)

    def overloaded(self, call: AwsCall) -> Mapping[int, Fault]:
        return {}

    def one_of(self, call: AwsCall) -> Mapping[str, Any]:
        found = call.parameters.get("Record")
        return found if isinstance(found, dict) else {}

    def put(self, record: Mapping[str, Any], call: AwsCall) -> dict[str, Any]:
        self.records.append(data_in(record))
        return {"RecordId": uuid.uuid4().hex}

    def taken(self) -> list[bytes]:
        records, self.records = self.records, []
        return records

    def failure(self, record: Mapping[str, Any]) -> str:
        return "Slow down."

    def total(self, failed: int) -> dict[str, Any]:
        return {"FailedPutCount": failed, "Encrypted": False}
