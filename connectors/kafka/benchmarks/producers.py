"""Rows into Kafka without Spark: our writer, fed with Arrow batches, and clients that take one record at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import anyio
import pyarrow as pa
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from topics import Topics

from asyncsink_kafka import KafkaOptions, KafkaSink
from asyncsink_testing.bench_rows import Took, timed

BATCH_ROWS = 10_000
"""As Spark hands them over."""
DISTINCT_KEYS = 5000
BATCH_SIZE, LINGER_MS = 900_000, 5
"""Of both peers: more than they have by default, and what ours has."""
_FLUSH_S = 120.0
_WORDS = b"the quick brown fox jumps over the lazy dog and runs away from 3.14159 wolves at 2024-01-01".split()


@dataclass(frozen=True, slots=True)
class Material:
    """One batch of rows, which is sent again and again: as lists, and as Arrow columns."""

    keys: list[bytes]
    values: list[bytes]
    batch: pa.RecordBatch


@cache
def material(size: int) -> Material:
    """Values of so many bytes, which look like text, with keys that repeat."""
    chosen = random.Random(7)
    keys = [b"user-%06d" % chosen.randrange(DISTINCT_KEYS) for _ in range(BATCH_ROWS)]
    values = [b" ".join(chosen.choices(_WORDS, k=size // 4))[:size].ljust(size, b"x") for _ in range(BATCH_ROWS)]
    columns = {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    return Material(keys, values, pa.RecordBatch.from_pydict(columns))


Feed = Callable[[str, str, Material, int], Took]
"""Sends the batch once to warm up, and then so often, to a topic of the broker with these bootstrap servers."""


def sends(topics: Topics, feed: Feed, size: int, batches: int) -> Callable[[], Took]:
    """What sends so many batches of rows into a fresh topic, and sees that they have arrived."""

    def run() -> Took:
        with topics.fresh((batches + 1) * BATCH_ROWS) as topic:
            return feed(topics.bootstrap, topic, material(size), batches)

    return run


def our_writer(bootstrap: str, topic: str, sent: Material, batches: int) -> Took:
    sink = KafkaSink(KafkaOptions(bootstrap_servers=bootstrap, topic=topic))

    async def main() -> Took:
        async with sink.open() as writer:

            async def feed(count: int) -> None:
                for _ in range(count):
                    await writer.write_batch(sent.batch)
                await writer.flush()

            return await timed(feed, batches)

    return anyio.run(main)


def aiokafka_send(bootstrap: str, topic: str, sent: Material, batches: int) -> Took:
    async def main() -> Took:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=BATCH_SIZE, linger_ms=LINGER_MS
        )
        async with producer:

            async def feed(count: int) -> None:
                for _ in range(count):
                    pairs = zip(sent.keys, sent.values, strict=True)
                    acknowledged = [await producer.send(topic, value, key) for key, value in pairs]
                    for each in acknowledged:
                        await each

            return await timed(feed, batches)

    return anyio.run(main)


def confluent_produce(bootstrap: str, topic: str, sent: Material, batches: int) -> Took:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "batch.size": BATCH_SIZE,
            "linger.ms": LINGER_MS,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 1 << 20,
            "delivery.report.only.error": True,
        }
    )

    async def feed(count: int) -> None:
        for _ in range(count):
            for key, value in zip(sent.keys, sent.values, strict=True):
                producer.produce(topic, value, key)
            producer.poll(0)
        if left := producer.flush(_FLUSH_S):
            raise RuntimeError(f"{left} rows have not been acknowledged within {_FLUSH_S:g} s")

    return anyio.run(timed, feed, batches)


PEERS: Mapping[str, tuple[Feed, int, float]] = {
    "aiokafka send()": (aiokafka_send, 10, 10.0),
    "confluent-kafka produce()": (confluent_produce, 100, 1.2),
}
"""How each is fed, with how many batches, and how many times as fast ours has to be."""
OUR_BATCHES = 100
