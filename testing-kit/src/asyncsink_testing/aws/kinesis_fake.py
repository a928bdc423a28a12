"""Kinesis Data Streams, as far as a sink sees it: its limits, its sentences, its shards.

Limits and codes are those of the API reference of PutRecords, PutRecord, ListShards and DescribeStreamSummary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncsink_testing.aws.calls import AwsCall, answered, refused
from asyncsink_testing.aws.fake import ACCOUNT, REGION, AwsFake, at_most, data_in, data_refusal, validation_error
from asyncsink_testing.aws.shards import HASH_KEYS, ShardModel, hash_key_of, sequence_number, sequence_of
from asyncsink_testing.faults import Fault
from asyncsink_testing.http_server import Reaction

MAX_RECORDS = 500
MAX_REQUEST_BYTES = 10 * 1024 * 1024
MAX_RECORD_BYTES = 1024 * 1024
MAX_KEY_CHARACTERS = 256

_SHARDS_A_PAGE = 1_000
_HASH_KEY = re.compile(r"0|([1-9][0-9]{0,38})")


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record that stands in the stream.

    :param after: the sequence number that it was asked to come after, by PutRecord
    """

    data: bytes
    partition_key: str
    explicit_hash_key: str | None
    shard_id: str
    sequence_number: str
    after: str | None = None


class KinesisFake(AwsFake):
    """One stream, which keeps its records in order.

    :param shards: by default one without a limit; ``ShardModel(4)`` throttles as a stream of four does
    :param max_request_bytes: 10 MiB, or less as the service did before
    :param max_record_bytes: what ``UpdateMaxRecordSize`` has set
    """

    service, target, several, results = "kinesis", "Kinesis_20131202", "PutRecords", "Records"
    throttled = ("ProvisionedThroughputExceededException", 400)

    def __init__(
        self,
        name: str = "rows",
        *,
        shards: ShardModel | None = None,
        region: str = REGION,
        secrets: Mapping[str, str] | None = None,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(name, region, secrets, max_record_bytes)
        self.shards = shards or ShardModel(1, None, None)
        self.max_request_bytes = max_request_bytes
        self.records: list[StoredRecord] = []
        """In the order of their sequence numbers."""
        self.refused = 0
        """Records for which a shard had no capacity."""

    @property
    def arn(self) -> str:
        return f"arn:aws:kinesis:{self.region}:{ACCOUNT}:stream/{self.name}"

    # ---- what brings no records ----------------------------------------------------------------------------------

    def describe(self, call: AwsCall) -> Reaction | None:
        if call.operation == "DescribeStreamSummary":
            return self._missing(call) or answered({"StreamDescriptionSummary": self._summary()})
        if call.operation == "ListShards":
            return self._list_shards(call)
        return None

    def _summary(self) -> dict[str, Any]:
        return {
            "ConsumerCount": 0,
            "EncryptionType": "NONE",
            "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
            "MaxRecordSizeInKiB": self.max_record_bytes // 1024,
            "OpenShardCount": len(self.shards.open_shards),
            "RetentionPeriodHours": 24,
            "StreamARN": self.arn,
            "StreamCreationTimestamp": 1_700_000_000.0,
            "StreamModeDetails": {"StreamMode": "PROVISIONED"},
            "StreamName": self.name,
            "StreamStatus": "ACTIVE",
        }

    def _list_shards(self, call: AwsCall) -> Reaction:
        token = call.parameters.get("NextToken")
        named = [each for each in ("StreamName", "StreamARN") if each in call.parameters]
        if token is not None and named:
            return refused("InvalidArgumentException", f"NextToken and {named[0]} cannot be provided together.")
        missing = self._missing(call) if token is None else None
        if missing is not None:
            return missing
        # The token carries the filter of the first page, as the service's does.
        kind, _, first = (token or f"{_filter_of(call)}:0").partition(":")
        told = self.shards.open_shards if kind == "AT_LATEST" else list(self.shards.shards.values())
        start = int(first)
        end = start + int(call.parameters.get("MaxResults", _SHARDS_A_PAGE))
        page: dict[str, Any] = {"Shards": [each.described() for each in told[start:end]]}
        return answered(page | ({"NextToken": f"{kind}:{end}"} if end < len(told) else {}))

    # ---- records -------------------------------------------------------------------------------------------------

    def check(self, call: AwsCall) -> Reaction | None:
        records = self.records_in(call)
        if not records:
            return validation_error("records", "Member must have length greater than or equal to 1")
        if len(records) > MAX_RECORDS:
            return validation_error("records", at_most(MAX_RECORDS))
        broken = next(filter(None, (self._broken(at, each) for at, each in enumerate(records, 1))), None)
        if broken is not None:
            return broken
        if sum(map(_size, records)) > self.max_request_bytes:
            megabytes = self.max_request_bytes // (1024 * 1024)
            return refused("InvalidArgumentException", f"Records size exceeds {megabytes} MB limit")
        return self._missing(call) or self._wrong_order(call)

    def _broken(self, position: int, record: Mapping[str, Any]) -> Reaction | None:
        """What is wrong with the record at this position, from 1 as AWS counts."""
        key, hash_key = record.get("PartitionKey"), record.get("ExplicitHashKey")
        where = f"records.{position}.member"
        if not isinstance(key, str) or not key:
            return validation_error(f"{where}.partitionKey", "Member must have length greater than or equal to 1")
        if len(key) > MAX_KEY_CHARACTERS:
            return validation_error(f"{where}.partitionKey", at_most(MAX_KEY_CHARACTERS))
        if _size(record) > self.max_record_bytes:
            return validation_error(f"{where}.data", at_most(self.max_record_bytes))
        return data_refusal(position, record) or (None if hash_key is None else _wrong_hash_key(where, str(hash_key)))

    def _missing(self, call: AwsCall) -> Reaction | None:
        name, arn = call.parameters.get("StreamName"), call.parameters.get("StreamARN")
        if name is None and arn is None:
            return refused("InvalidArgumentException", "Missing StreamName or StreamARN.")
        if name in (None, self.name) and arn in (None, self.arn):
            return None
        wrong = name if name not in (None, self.name) else str(arn).rpartition("/")[2]
        return refused("ResourceNotFoundException", f"Stream {wrong} under account {ACCOUNT} not found.")

    def _wrong_order(self, call: AwsCall) -> Reaction | None:
        """PutRecord comes after a record that is there."""
        after = call.parameters.get("SequenceNumberForOrdering")
        if after is None:
            return None
        number = sequence_of(str(after))
        if number is not None and number <= self.shards.sequence:
            return None
        return refused(
            "InvalidArgumentException",
            f"ExclusiveMinimumSequenceNumber {after} used in PutRecord on stream {self.name} under account {ACCOUNT} "
            "is invalid.",
        )

    def overloaded(self, call: AwsCall) -> Mapping[int, Fault]:
        refused_at = [at for at, each in enumerate(self.records_in(call)) if not self.shards.take(*_cost(each))]
        self.refused += len(refused_at)
        return dict.fromkeys(refused_at, Fault.PARTLY_THROTTLED)

    def one_of(self, call: AwsCall) -> Mapping[str, Any]:
        return call.parameters

    def put(self, record: Mapping[str, Any], call: AwsCall) -> dict[str, Any]:
        key, hash_key = record["PartitionKey"], record.get("ExplicitHashKey")
        shard = self.shards.shard_of(hash_key_of(key, hash_key))
        number = sequence_number(self.shards.next_sequence())
        after = call.parameters.get("SequenceNumberForOrdering")
        self.records.append(StoredRecord(data_in(record), key, hash_key, shard.id, number, after))
        return {"SequenceNumber": number, "ShardId": shard.id}

    def taken(self) -> list[bytes]:
        records, self.records = self.records, []
        return [each.data for each in records]

    def failure(self, record: Mapping[str, Any]) -> str:
        shard = self.shards.shard_of(_hash_key(record))
        return f"Rate exceeded for shard {shard.id} in stream {self.name} under account {ACCOUNT}."

    def total(self, failed: int) -> dict[str, Any]:
        return {"FailedRecordCount": failed}


def _filter_of(call: AwsCall) -> str:
    wanted = call.parameters.get("ShardFilter", {})
    return str(wanted.get("Type", "ALL"))


def _wrong_hash_key(where: str, hash_key: str) -> Reaction | None:
    if _HASH_KEY.fullmatch(hash_key) is None:
        constraint = f"Member must satisfy regular expression pattern: {_HASH_KEY.pattern}"
        return validation_error(f"{where}.explicitHashKey", constraint)
    if int(hash_key) < HASH_KEYS:
        return None
    return refused(
        "InvalidArgumentException",
        f"Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was {hash_key}",
    )


def _size(record: Mapping[str, Any]) -> int:
    """The key's bytes count as well."""
    return len(data_in(record)) + len(str(record.get("PartitionKey", "")).encode())


def _hash_key(record: Mapping[str, Any]) -> int:
    return hash_key_of(record.get("PartitionKey", ""), record.get("ExplicitHashKey"))


def _cost(record: Mapping[str, Any]) -> tuple[int, int]:
    return _hash_key(record), _size(record)
