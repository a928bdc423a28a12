"""Amazon Data Firehose, as far as a sink sees it: its limits and its sentences.

Limits and codes are those of the API reference of PutRecordBatch, PutRecord and DescribeDeliveryStream.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from asyncsink_testing.aws.calls import AwsCall, answered, refused
from asyncsink_testing.aws.fake import ACCOUNT, INTERNAL_FAILURE, REGION, AwsFake, at_most, data_in, validation_error
from asyncsink_testing.faults import Fault
from asyncsink_testing.http_destination import HttpAnswers
from asyncsink_testing.http_server import Reaction

MAX_RECORDS = 500
MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RECORD_BYTES = 1000 * 1024

THROTTLED = "ServiceUnavailableException"

Source = Literal["DirectPut", "KinesisStreamAsSource", "MSKAsSource"]


class FirehoseFake(AwsFake):
    """One delivery stream, which keeps its records in order.

    :param source: what feeds it; one that another stream feeds refuses what is put into it
    """

    service, target, puts = "firehose", "Firehose_20150804", frozenset({"PutRecordBatch", "PutRecord"})

    def __init__(
        self,
        name: str = "rows",
        *,
        source: Source = "DirectPut",
        region: str = REGION,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, region, secrets)
        self.source = source
        self.records: list[bytes] = []

    @property
    def arn(self) -> str:
        return f"arn:aws:firehose:{self.region}:{ACCOUNT}:deliverystream/{self.name}"

    def records_in(self, call: AwsCall) -> Sequence[Mapping[str, Any]]:
        found = call.parameters.get("Records") if call.operation == "PutRecordBatch" else [call.parameters["Record"]]
        return found if isinstance(found, list) else []

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
        sizes = [len(data_in(each)) for each in self.records_in(call)]
        if not sizes:
            return validation_error("records", "Member must have length greater than or equal to 1")
        if len(sizes) > MAX_RECORDS:
            return validation_error("records", at_most(MAX_RECORDS))
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

    def store(self, call: AwsCall, failed: Mapping[int, Fault]) -> Reaction:
        results: list[dict[str, Any]] = []
        for at, each in enumerate(self.records_in(call)):
            if at in failed:
                results.append(_error(failed[at]))
            else:
                self.records.append(data_in(each))
                results.append({"RecordId": uuid.uuid4().hex})
        if call.operation == "PutRecordBatch":
            return answered({"FailedPutCount": len(failed), "Encrypted": False, "RequestResponses": results})
        [result] = results
        if "ErrorCode" in result:
            return refused(
                result["ErrorCode"], result["ErrorMessage"], 503 if result["ErrorCode"] == THROTTLED else 500
            )
        return answered({**result, "Encrypted": False})

    def faults(self) -> HttpAnswers:
        user = f"arn:aws:sts::{ACCOUNT}:assumed-role/writer/spark"
        return HttpAnswers(
            throttled=refused(THROTTLED, "Slow down.", 503),
            refused=refused(INTERNAL_FAILURE, "Internal Service Failure", 500),
            rejected=validation_error("records.1.member.data", at_most(MAX_RECORD_BYTES)),
            fatal=refused(
                "AccessDeniedException",
                f"User: {user} is not authorized to perform: firehose:PutRecordBatch on resource: {self.arn} because "
                "no identity-based policy allows the firehose:PutRecordBatch action",
            ),
        )


def _error(fault: Fault) -> dict[str, Any]:
    if fault is Fault.PARTLY_FAILED:
        return {"ErrorCode": INTERNAL_FAILURE, "ErrorMessage": "Internal Service Failure"}
    return {"ErrorCode": THROTTLED, "ErrorMessage": "Slow down."}
