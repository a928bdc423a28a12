"""A stub of Kinesis, which looks at no signature."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path

from asyncsink_testing.bench_stub import StubConnection, answer, serve

SCRIPT = Path(__file__)
STREAM, REGION = "bench", "eu-west-1"

_SHARD = "shardId-000000000000"
_ARN = f"arn:aws:kinesis:{REGION}:123456789012:stream/{STREAM}"
_SUMMARY = {
    "StreamDescriptionSummary": {
        "EnhancedMonitoring": [],
        "MaxRecordSizeInKiB": 1024,
        "OpenShardCount": 1,
        "RetentionPeriodHours": 24,
        "StreamARN": _ARN,
        "StreamCreationTimestamp": 1_700_000_000.0,
        "StreamModeDetails": {"StreamMode": "PROVISIONED"},
        "StreamName": STREAM,
        "StreamStatus": "ACTIVE",
    }
}
_NUMBER = "49590338271490256608559692538361571095921575989136588898"
_JSON, _CBOR = b"application/x-amz-json-1.1", b"application/x-amz-cbor-1.1"


@cache
def accepted(count: int, is_cbor: bool) -> bytes:
    """The answer to so many records, all of which are stored, with its headers."""
    if is_cbor:
        record = b"\xa2" + _text("SequenceNumber") + _text(_NUMBER) + _text("ShardId") + _text(_SHARD)
        records = b"\x99" + count.to_bytes(2, "big") + record * count
        return answer(b"\xa2" + _text("FailedRecordCount") + b"\x00" + _text("Records") + records, _CBOR)
    stored = [{"SequenceNumber": _NUMBER, "ShardId": _SHARD}] * count
    return answer(json.dumps({"FailedRecordCount": 0, "Records": stored}, separators=(",", ":")).encode(), _JSON)


def _text(text: str) -> bytes:
    """A string of CBOR."""
    head = bytes([0x60 + len(text)]) if len(text) < 24 else bytes([0x78, len(text)])
    return head + text.encode()


class Connection(StubConnection):
    # One a record: payloads are in base64, or hold no such word, and neither do the keys.
    word = b"PartitionKey"

    def respond(self, head: bytes, count: int) -> None:
        if b".DescribeStreamSummary" in head:
            self.transport.write(answer(json.dumps(_SUMMARY).encode(), _JSON))
        else:
            self.transport.write(accepted(count, _CBOR in head))


if __name__ == "__main__":
    asyncio.run(serve(Connection))
