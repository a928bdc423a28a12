from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest

from asyncsink.errors import RequestError
from asyncsink_kafka.client import CLIENT_CLOSED, KafkaClient, connect
from asyncsink_kafka.client.handover import Handover
from asyncsink_testing.kafka import MockCluster

from .batches import Told, batch_of, config_of, left_running, options_for, values_in

pytestmark = pytest.mark.anyio

LONG_MS = 60_000
SOON_S = 5.0
"""Far below the time that the broker takes, and the request's own timeout."""


class Stop(Exception):
    """What the writer gives up with."""


@pytest.fixture
def slow() -> MockCluster:
    """A cluster of its own, as it answers nobody any more once it has begun to be slow."""
    return MockCluster(topics={"slow": 2})


@asynccontextmanager
async def hanging(slow: MockCluster, handover: Handover) -> AsyncIterator[tuple[KafkaClient, list[str]]]:
    """A client with a batch of each partition under way at a broker that does not answer; how these ended."""
    ended: list[str] = []
    at_broker = anyio.Event()

    class Sees(Told):
        def started(self, records: int, size_in_bytes: int) -> None:
            at_broker.set()

    async def send(partition: int) -> None:
        try:
            await client.send("slow", partition, batch_of(["never"]))
        except RequestError as error:
            ended.append(error.code)

    options = options_for(slow.bootstrap)
    async with anyio.create_task_group() as group:
        async with connect(options, config_of(request_timeout_s=60.0), handover) as client:
            await client.send("slow", 0, batch_of(["first"]))
            client.observer = Sees()
            slow.delay_answers(1, LONG_MS)
            for partition in range(2):
                group.start_soon(send, partition)
            await at_broker.wait()
            yield client, ended


async def test_abort_ends_at_once_with_nothing_left_running(slow: MockCluster, handover: Handover) -> None:
    with slow, anyio.fail_after(SOON_S):
        async with hanging(slow, handover) as (client, ended):
            await client.abort()
            assert await left_running() == []
            with pytest.raises(RequestError, match="was given up"):
                await client.send("slow", 0, batch_of(["late"]))

    assert ended == [CLIENT_CLOSED, CLIENT_CLOSED]


async def test_leaving_with_an_exception_gives_everything_up(slow: MockCluster, handover: Handover) -> None:
    ended: list[str] = []
    with slow, anyio.fail_after(SOON_S):
        with pytest.raises(ExceptionGroup) as caught:
            async with hanging(slow, handover) as (_, ended):
                raise Stop

    assert isinstance(caught.value.exceptions[0], Stop)
    assert ended == [CLIENT_CLOSED, CLIENT_CLOSED]
    assert await left_running() == []


async def test_leaving_with_batches_under_way_gives_them_up(slow: MockCluster, handover: Handover) -> None:
    with slow, anyio.fail_after(SOON_S):
        async with hanging(slow, handover) as (_, ended):
            pass

    assert ended == [CLIENT_CLOSED, CLIENT_CLOSED]
    assert await left_running() == []


async def test_cancelling_the_task_gives_everything_up(slow: MockCluster, handover: Handover) -> None:
    with slow, anyio.fail_after(SOON_S):
        with anyio.CancelScope() as scope:
            async with hanging(slow, handover):
                scope.cancel()
                await anyio.sleep_forever()

    assert await left_running() == []


async def test_abort_while_the_broker_is_down(slow: MockCluster, handover: Handover) -> None:
    with slow, anyio.fail_after(SOON_S):
        async with connect(options_for(slow.bootstrap), config_of(), handover) as client:
            await client.send("slow", 0, batch_of(["first"]))
            slow.stop_broker(1)
            failed = anyio.Event()

            class Sees(Told):
                def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
                    failed.set()

            async def send() -> None:
                with pytest.raises(RequestError, match="was given up; the last error was"):
                    await client.send("slow", 0, batch_of(["never"]))

            client.observer = Sees()
            async with anyio.create_task_group() as group:
                group.start_soon(send)
                await failed.wait()
                await client.abort()
            assert await left_running() == []


async def test_abort_may_be_repeated_and_of_an_idle_client(cluster: MockCluster, handover: Handover) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.abort()
        await client.abort()
        with pytest.raises(RequestError, match=CLIENT_CLOSED):
            await client.partitions("any")

    assert await left_running() == []


async def test_nothing_is_complained_of_after_an_abort(
    slow: MockCluster, handover: Handover, caplog: pytest.LogCaptureFixture
) -> None:
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
    with slow, anyio.fail_after(SOON_S):
        async with hanging(slow, handover) as (client, _):
            await client.abort()
        # What asyncio has to complain of it says when objects go.
        del client
        gc.collect()
        await anyio.lowlevel.checkpoint()

    assert complaints == []
    assert [each.message for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_a_cancelled_send_keeps_its_numbers_from_the_next_batch(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(["first"]))
        with anyio.CancelScope() as scope:

            class Cancels(Told):
                def started(self, records: int, size_in_bytes: int) -> None:
                    scope.cancel()

            client.observer = Cancels()
            await client.send(topic, 0, batch_of(["cancelled"]))
        client.observer = None
        await client.send(topic, 0, batch_of(["after"]))

    assert values_in(cluster.bootstrap, topic, 0)[-1] == "after"
