"""The destination of the checks, with aiokafka and librdkafka as clients: what they are told is what happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from asyncsink_testing.conformance.watching import until
from asyncsink_testing.faults import Fault, Step
from asyncsink_testing.kafka import KafkaDestination, KafkaDestinations, MockCluster

ROWS, PARTITIONS = 9, 3
VALUES = [b"%d" % number for number in range(ROWS)]
INVALID, FORBIDDEN = "INVALID_RECORD", "TOPIC_AUTHORIZATION_FAILED"

Send = Callable[..., Awaitable[list[str]]]


@pytest.fixture(scope="module")
def destinations() -> Iterator[KafkaDestinations]:
    with MockCluster(3) as cluster:
        yield KafkaDestinations(cluster, PARTITIONS)


@pytest.fixture(params=["aiokafka", "librdkafka"])
def send(request: pytest.FixtureRequest) -> Send:
    return by_aiokafka if request.param == "aiokafka" else by_librdkafka


async def by_aiokafka(destination: KafkaDestination, compression: str | None = None) -> list[str]:
    """Send all values, each to the partition of its number, and return the names of the errors."""
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(
        bootstrap_servers=destination.endpoint, retry_backoff_ms=5, compression_type=compression, acks="all"
    )
    failed = []
    async with producer:
        sent = [await producer.send(destination.topic, each, partition=at % 3) for at, each in enumerate(VALUES)]
        for each in sent:
            try:
                await each
            except Exception as error:
                failed.append({29: FORBIDDEN}.get(getattr(error, "errno", -1), INVALID))
    return failed


async def by_librdkafka(destination: KafkaDestination, compression: str | None = None) -> list[str]:
    """Likewise."""
    from confluent_kafka import Producer

    options: dict[str, Any] = {
        "bootstrap.servers": destination.endpoint,
        "compression.type": compression or "none",
        "retry.backoff.ms": 5,
        "reconnect.backoff.ms": 1,
        "linger.ms": 20,
        "log_level": 0,
    }
    failed: list[str] = []

    def run() -> None:
        producer = Producer(options)
        for at, each in enumerate(VALUES):
            producer.produce(destination.topic, each, partition=at % 3, on_delivery=told)
        assert producer.flush(20) == 0

    def told(error: Any, message: Any) -> None:
        if error is not None:
            failed.append(error.name())

    await run_sync(run)
    return failed


def check(run: Callable[[], Awaitable[None]]) -> None:
    anyio.run(run)


async def stored(destination: KafkaDestination) -> Counter[bytes]:
    return Counter(each.payload for each in await destination.received())


@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
def test_shows_the_values_of_each_request(destinations: KafkaDestinations, send: Send, compression: str | None) -> None:
    async def run() -> None:
        async with destinations() as destination:
            assert await send(destination, compression) == []
            seen = [payload for each in destination.requests for payload in each.payloads]
            assert sorted(seen) == sorted(VALUES)
            assert all(len(each.stored) == len(each.payloads) == sum(each.batches) for each in destination.requests)
            assert await stored(destination) == Counter(VALUES)
            assert destination.proxy.failures == []

    check(run)


@pytest.mark.parametrize("fault", [Fault.ANSWER_LOST, Fault.ANSWER_CUT])
def test_stores_what_it_does_not_answer(destinations: KafkaDestinations, send: Send, fault: Fault) -> None:
    async def run() -> None:
        async with destinations() as destination:
            destination.script([fault])
            assert await send(destination) == []
            lost, *others = destination.requests
            assert lost.fault is fault
            assert len(lost.stored) == len(lost.payloads)
            again = [payload for each in others for payload in each.payloads]
            assert set(lost.payloads) <= set(again)
            assert set(await stored(destination)) == set(VALUES)

    check(run)


@pytest.mark.parametrize("fault", [Fault.DISCONNECTED, Fault.REFUSED])
def test_stores_nothing_of_what_it_refuses(destinations: KafkaDestinations, send: Send, fault: Fault) -> None:
    async def run() -> None:
        async with destinations() as destination:
            destination.script([fault])
            assert await send(destination) == []
            assert destination.requests[0].fault is fault
            assert destination.requests[0].stored == frozenset()
            assert await stored(destination) == Counter(VALUES)

    check(run)


@pytest.mark.parametrize(("fault", "code"), [(Fault.FATAL, FORBIDDEN), (Fault.REJECTED, INVALID)])
def test_tells_the_client_what_no_retry_mends(
    destinations: KafkaDestinations, send: Send, fault: Fault, code: str
) -> None:
    async def run() -> None:
        async with destinations() as destination:
            destination.script([], then=fault)
            assert await send(destination) == [code] * ROWS
            assert await stored(destination) == Counter()

    check(run)


def test_refuses_the_batch_that_holds_poison_and_no_other(destinations: KafkaDestinations, send: Send) -> None:
    async def run() -> None:
        async with destinations() as destination:
            destination.poison(lambda payload: payload == VALUES[4])
            failed = await send(destination)
            assert set(failed) == {INVALID}
            assert len(await stored(destination)) == ROWS - len(failed)
            assert VALUES[4] not in await stored(destination)
            assert {each for at, each in enumerate(VALUES) if at % 3 != 1} <= set(await stored(destination))

    check(run)


@pytest.mark.parametrize(("fault", "count"), [(Fault.HANGING, 0), (Fault.HANGING_STORED, 3)])
def test_never_answers_what_hangs(destinations: KafkaDestinations, fault: Fault, count: int) -> None:
    async def run() -> None:
        async with destinations() as destination:
            destination.script([], then=fault)
            async with anyio.create_task_group() as group:
                group.start_soon(by_hand, destination)
                assert await until(lambda: hangs(destination, count), 10)
                group.cancel_scope.cancel()
            assert len(await destination.received()) == count

    check(run)


def hangs(destination: KafkaDestination, count: int) -> bool:
    stored = [len(each.stored) for each in destination.requests]
    return destination.proxy.in_flight == 1 and stored == [count]


async def by_hand(destination: KafkaDestination) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": destination.endpoint, "linger.ms": 100, "log_level": 0})
    for each in VALUES[:3]:
        producer.produce(destination.topic, each, partition=0)
    await anyio.sleep_forever()


def test_says_how_long_a_quota_holds_back_and_stores(destinations: KafkaDestinations) -> None:
    async def run() -> None:
        told: list[int] = []
        async with destinations() as destination:
            destination.script([], then=Step(Fault.OK, retry_after_s=0.05))
            await run_sync(lambda: throttled(destination, told))
            assert max(told) == 50
            assert await stored(destination) == Counter(VALUES[:1])

    check(run)


def throttled(destination: KafkaDestination, told: list[int]) -> None:
    from confluent_kafka import Producer

    options = {"bootstrap.servers": destination.endpoint, "log_level": 0}
    producer = Producer({**options, "throttle_cb": lambda event: told.append(round(event.throttle_time * 1000))})
    producer.produce(destination.topic, VALUES[0], partition=0)
    assert producer.flush(20) == 0
    producer.poll(0.2)


def test_counts_the_connections_that_are_open(destinations: KafkaDestinations, send: Send) -> None:
    async def run() -> None:
        async with destinations() as destination:
            assert await send(destination) == []
            assert await until(lambda: destination.open_connections == 0, 10)
            assert destination.peak_in_flight >= 1
            assert destination.proxy.in_flight == 0

    check(run)


def test_refuses_a_script_of_what_kafka_cannot_do(destinations: KafkaDestinations) -> None:
    async def run() -> None:
        async with destinations() as destination:
            with pytest.raises(ValueError, match="Kafka cannot make 'throttled'"):
                destination.script([Fault.THROTTLED])

    check(run)
