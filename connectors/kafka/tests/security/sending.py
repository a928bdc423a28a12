"""A producer under load, and what the broker has of it."""

from __future__ import annotations

from typing import Any

import anyio
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, TopicPartition

from asyncsink_kafka.security import keep_authenticated

PARTITIONS = 3


async def send_for(
    seconds: float,
    arguments: dict[str, Any],
    bootstrap: str,
    topic: str,
    *,
    renews: bool = True,
) -> list[int]:
    """Send 0, 1, 2, ... to each partition, one after the other; returns how many each has acknowledged.

    Metadata are asked for all the time, so that the connections have more than one request under way.
    """
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        metadata_max_age_ms=20,
        request_timeout_ms=5000,
        **arguments,
    )
    if renews:
        keep_authenticated(producer)
    sent = [0] * PARTITIONS

    async def fill(partition: int) -> None:
        while True:
            await producer.send_and_wait(topic, str(sent[partition]).encode(), partition=partition)
            sent[partition] += 1

    try:
        await producer.start()
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as group:
                for partition in range(PARTITIONS):
                    group.start_soon(fill, partition)
    finally:
        with anyio.CancelScope(shield=True):
            await producer.stop()
    return sent


def stored(bootstrap: str, topic: str) -> list[list[int]]:
    """What each partition holds, in its order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    try:
        return [_stored_in(consumer, TopicPartition(topic, partition, 0)) for partition in range(PARTITIONS)]
    finally:
        consumer.close()


def _stored_in(consumer: Consumer, place: TopicPartition) -> list[int]:
    _, end = consumer.get_watermark_offsets(place, timeout=10)
    consumer.assign([place])
    found: list[int] = []
    while len(found) < end:
        found += [int(each.value()) for each in consumer.consume(end - len(found), timeout=1.0)]
    return found
