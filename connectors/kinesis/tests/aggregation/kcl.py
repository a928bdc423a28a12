"""How consumers unpack frames: by Amazon's library for Python, and as its library for Java (KCL) does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from aws_kinesis_agg.deaggregator import iter_deaggregate_records

from asyncsink_kinesis.aggregation.packing import Frame
from asyncsink_kinesis.shards.hash_keys import hash_key
from asyncsink_kinesis.shards.shard import Shard


class UserRecord(NamedTuple):
    data: bytes
    partition_key: str
    explicit_hash_key: str | None


def unpacked(frames: Iterable[Frame]) -> list[UserRecord]:
    """The rows of some records, by the public de-aggregator."""
    found = []
    for frame in frames:
        stored = {"Data": frame.data, "PartitionKey": frame.partition_key, "SequenceNumber": "1"}
        stored["ApproximateArrivalTimestamp"] = "0"
        for each in iter_deaggregate_records([stored], data_format="Boto3"):
            found.append(_user_record(each["kinesis"], frame))
    return found


def _user_record(record: dict[str, Any], frame: Frame) -> UserRecord:
    if not record.get("aggregated"):
        return UserRecord(record["data"], record["partitionKey"], frame.explicit_hash_key)
    from base64 import b64decode

    explicit = record["explicitHashKey"]
    return UserRecord(b64decode(record["data"]), record["partitionKey"], explicit or None)


def consumed(frames: Iterable[Frame], shard: Shard) -> list[UserRecord]:
    """What KCL hands on of frames that it reads from a shard: no row of a frame whose hash key is another shard's."""
    found = []
    for frame in frames:
        rows = unpacked([frame])
        found += [
            row for row in rows if len(rows) == 1 or shard.holds(hash_key(row.partition_key, row.explicit_hash_key))
        ]
    return found
