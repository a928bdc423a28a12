"""What stands in a stream, read with boto3."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal

from asyncsink_testing.aws.kinesis_fake import StoredRecord

_MOST = 10_000
_ACTIVE_S = 30.0
_POLL_S = 0.01


class KinesisReader:
    """Reads a stream on and on, each shard in its order, from where it stands when this is made.

    :param client: boto3's
    :param start: with what is there already, or behind it. Shards that come later are read from their beginning
    """

    def __init__(self, client: Any, stream: str, start: Literal["TRIM_HORIZON", "LATEST"] = "TRIM_HORIZON") -> None:
        self._client, self._stream = client, stream
        self._iterators: dict[str, str | None] = {}
        self._look_for_shards(start)

    def fresh(self) -> list[StoredRecord]:
        """What has come since the last call."""
        self._look_for_shards("TRIM_HORIZON")
        return [record for shard_id in self._iterators for record in self._read(shard_id)]

    def _look_for_shards(self, start: str) -> None:
        for each in _shards(self._client, self._stream):
            if each["ShardId"] not in self._iterators:
                named = {"StreamName": self._stream, "ShardId": each["ShardId"], "ShardIteratorType": start}
                self._iterators[each["ShardId"]] = self._client.get_shard_iterator(**named)["ShardIterator"]

    def _read(self, shard_id: str) -> Iterator[StoredRecord]:
        """To its present end; a closed shard has no iterator after that."""
        while (iterator := self._iterators[shard_id]) is not None:
            told = self._client.get_records(ShardIterator=iterator, Limit=_MOST)
            self._iterators[shard_id] = told.get("NextShardIterator")
            for each in told["Records"]:
                yield StoredRecord(each["Data"], each["PartitionKey"], None, shard_id, each["SequenceNumber"])
            if not told["Records"] and not told.get("MillisBehindLatest"):
                return


def _shards(client: Any, stream: str) -> Iterator[dict[str, Any]]:
    asked = {"StreamName": stream}
    while True:
        told = client.list_shards(**asked)
        yield from told["Shards"]
        if not told.get("NextToken"):
            return
        asked = {"NextToken": told["NextToken"]}


def create_stream(client: Any, name: str, shards: int) -> None:
    """Make a stream, and return when it takes records."""
    client.create_stream(StreamName=name, ShardCount=shards)
    deadline_s = time.monotonic() + _ACTIVE_S
    while _status(client, name) != "ACTIVE":
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"stream {name!r} was not active within {_ACTIVE_S:g} s")
        time.sleep(_POLL_S)


def _status(client: Any, name: str) -> str:
    return str(client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamStatus"])
