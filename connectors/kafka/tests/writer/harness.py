"""A writer in virtual time, with a client that stores what it is sent and misbehaves as it is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from asyncsink import AsyncSinkWriterConfig, RequestError, RetryPolicy, WriterInitContext
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink_kafka import KafkaRecord, KafkaSink
from asyncsink_kafka.encoding import ReadyBatch
from asyncsink_kafka.writer import KafkaWriter

PARTITIONS = 3
TOPIC = "orders"


class FakeClient:
    """Stores batches by partition; `answer` is asked before each, and may raise or wait."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, int], list[KafkaRecord]] = defaultdict(list)
        self.batches: list[int] = []
        self.topics: dict[str, int] = {TOPIC: PARTITIONS}
        self.observer: Any = None
        self.last_error: str | None = None
        self.aborted = False
        self.under_way: dict[tuple[str, int], int] = defaultdict(int)
        self.answer: Callable[[Sequence[KafkaRecord]], Any] = lambda records: None
        self.asked: list[str] = []
        self.highest = 0

    async def partitions(self, topic: str, partition: int = 0) -> tuple[int, Sequence[int]]:
        self.asked.append(topic)
        self.highest = max(self.highest, partition)
        if topic not in self.topics:
            await anyio.sleep(1)
            raise RequestError("UNKNOWN_TOPIC_OR_PARTITION", f"no topic {topic!r}")
        return self.topics[topic], range(self.topics[topic])

    async def send(self, topic: str, partition: int, batch: ReadyBatch) -> None:
        place = topic, partition
        self.under_way[place] += 1
        assert self.under_way[place] == 1, "two batches of one partition are under way"
        try:
            decoded = batch.records(topic, partition)
            records = [decoded.record(at) for at in range(batch.count)]
            self.observer.started(batch.count, batch.size_in_bytes)
            await anyio.sleep(0.001)
            told = self.answer(records)
            if told is not None:
                await told
            self.stored[place] += records
            self.batches.append(batch.count)
            self.observer.ended(0.001, None, 0.0)
        finally:
            self.under_way[place] -= 1

    async def abort(self) -> None:
        self.aborted = True

    @property
    def values(self) -> list[bytes | None]:
        """All that is stored, in no order."""
        return sorted(
            (each.value for records in self.stored.values() for each in records), key=lambda each: each or b""
        )


class FakeSink(KafkaSink):
    """A sink whose client is the fake one."""

    def __init__(self, client: FakeClient, config: AsyncSinkWriterConfig, **options: Any) -> None:
        super().__init__(bootstrap_servers="broker:9092", config=config, **options)
        self.client = client

    @asynccontextmanager
    async def connect(self, context: Any, config: Any) -> AsyncIterator[Any]:
        yield self.client


QUICK = replace(
    KafkaSink.defaults,
    retry=RetryPolicy(timeout_s=10.0, initial_backoff_s=0.01, max_backoff_s=0.1),
    stall_timeout_s=60.0,
)


def writer_of(client: FakeClient, *, topic: str | None = TOPIC, **changes: Any) -> KafkaWriter:
    """A writer to the fake client; `changes` are options of the sink or fields of the configuration."""
    limits = {name: changes.pop(name) for name in tuple(changes) if name in AsyncSinkWriterConfig.__dataclass_fields__}
    sink = FakeSink(client, replace(QUICK, **limits), topic=topic, **changes)
    return sink.create_writer(WriterInitContext(query_id="q", batch_id=7, writer_id=3))


def lettered(store: DeadLetterMemory) -> dict[str, Any]:
    """The changes by which refused rows become dead letters."""
    return {"on_rejected": "dead_letter", "dead_letters": store, "max_rejected": 1.0}


def records(values: Iterable[int], **fields: Any) -> list[KafkaRecord]:
    return [KafkaRecord(value=b"%06d" % value, key=b"key-%d" % (value % 7), **fields) for value in values]


def expected(values: Iterable[int]) -> list[bytes]:
    return [b"%06d" % value for value in values]


def refuse(code: str, when: Callable[[KafkaRecord], bool]) -> Callable[[Sequence[KafkaRecord]], None]:
    """Refuse a batch with such a record in it."""

    def answer(batch: Sequence[KafkaRecord]) -> None:
        if any(map(when, batch)):
            raise RequestError(code, "the broker says no")

    return answer
