"""What the tests send, to whom, and what arrived."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio.lowlevel
import numpy as np
from confluent_kafka import Consumer, KafkaError, TopicPartition

from asyncsink.config import AsyncSinkWriterConfig, RetryPolicy
from asyncsink_kafka.encoding import ReadyBatch, codec, encode
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

NOW_MS = 1_700_000_000_000
_PRODUCER = struct.Struct(">qhi")


class Numbers(NamedTuple):
    """The producer's numbers in the header of a record batch."""

    producer_id: int
    epoch: int
    sequence: int


def numbers_of(data: bytes) -> Numbers:
    return Numbers(*_PRODUCER.unpack_from(data, 43))


def batch_of(values: Sequence[str | KafkaRecord], compression: str = "none") -> ReadyBatch:
    """All of them in one batch."""
    records = Records.of(
        [each if isinstance(each, KafkaRecord) else KafkaRecord(value=each.encode()) for each in values],
        range(len(values)),
    )
    (batch,) = encode(
        records,
        np.zeros(len(records), np.int32),
        1,
        now_ms=NOW_MS,
        max_batch_bytes=900_000,
        max_batch_count=100_000,
        codec=codec(compression, None),
    )
    return batch


def options_for(bootstrap: str, **changes: Any) -> KafkaOptions:
    return KafkaOptions(bootstrap_servers=bootstrap, **{"max_block_s": 0.3, **changes})


def config_of(**changes: Any) -> AsyncSinkWriterConfig:
    retry = RetryPolicy(timeout_s=10.0, initial_backoff_s=0.01, max_backoff_s=0.05)
    settings: dict[str, Any] = {"request_timeout_s": 5.0, "retry": retry, **changes}
    return AsyncSinkWriterConfig(**settings)


def read_back(bootstrap: str, topic: str, partition: int) -> list[Any]:
    """The messages of a partition from its beginning to its end, by another client."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "enable.partition.eof": True,
            "check.crcs": True,
            # The end of a partition is told when a fetch at the end is answered.
            "fetch.wait.max.ms": 10,
        }
    )
    found: list[Any] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        while True:
            message = consumer.poll(10)
            assert message is not None, "nothing came within 10 s"
            if message.error() is None:
                found.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                return found
            else:
                raise AssertionError(str(message.error()))
    finally:
        consumer.close()


def values_in(bootstrap: str, topic: str, partition: int) -> list[str]:
    return [each.value().decode() for each in read_back(bootstrap, topic, partition)]


async def left_running() -> list[str]:
    """What of aiokafka still runs in this loop, when that which was cancelled has had a turn."""
    await anyio.lowlevel.checkpoint()
    names = [getattr(each.get_coro(), "__qualname__", "") for each in asyncio.all_tasks() if not each.done()]
    return [name for name in names if name.startswith(("Sender", "AIOKafka", "MessageAccumulator"))]


class Told:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.started_requests: list[tuple[int, int]] = []
        self.ended_requests: list[tuple[str | None, float]] = []
        self.seconds: list[float] = []

    def started(self, records: int, size_in_bytes: int) -> None:
        self.started_requests.append((records, size_in_bytes))

    def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
        self.seconds.append(seconds)
        self.ended_requests.append((failed_code, throttle_s))
