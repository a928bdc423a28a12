"""Three brokers, of which one is killed, or ends in order and comes back, while a writer is at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import anyio
import pytest
from anyio.to_thread import run_sync
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient, PartitionMetadata

from asyncsink import WriterStatistics
from asyncsink_kafka import KafkaRecord, KafkaSink
from asyncsink_kafka.writer import KafkaWriter
from asyncsink_testing.kafka import KafkaCluster
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .client.batches import read_back

pytestmark = [pytest.mark.anyio, pytest.mark.nightly, pytest.mark.kafka_service, pytest.mark.timeout(180)]

PARTITIONS = 6
ROUND = 60
"""Rows that are written at a time."""
PAUSE_S = 0.005
KEYS = 97
POLL_S, ANSWER_S, MOVE_S = 0.1, 30.0, 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with skipped_without_kafka(), KafkaCluster(3) as started:
        yield started


class Leaders:
    """Who leads the partitions of a topic, as the brokers say."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._admin, self._topic = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0}), topic

    async def of(self, partition: int) -> int:
        return int((await self._partitions())[partition].leader)

    async def have_left(self, broker: int) -> bool:
        """Whether others lead all that this broker led."""
        return all(each.leader not in (broker, -1) for each in (await self._partitions()).values())

    async def are_back(self, broker: int) -> bool:
        """Whether this broker leads all that it is the first replica of; asked to, it may once it has caught up."""
        partitions = await self._partitions()
        others = [at for at, each in partitions.items() if each.replicas[0] == broker != each.leader]
        places = [TopicPartition(self._topic, at) for at in others]
        if places:
            await run_sync(lambda: self._admin.elect_leaders(ElectionType.PREFERRED, places).result(ANSWER_S))
        return not places

    async def _partitions(self) -> dict[int, PartitionMetadata]:
        told = await run_sync(lambda: self._admin.list_topics(self._topic, ANSWER_S))
        found: dict[int, PartitionMetadata] = told.topics[self._topic].partitions
        return found


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, for a minute: brokers tell nobody when they have come to an agreement."""
    with anyio.fail_after(MOVE_S):
        while True:
            if await holds():
                return
            await anyio.sleep(POLL_S)


async def write_through(
    cluster: KafkaCluster, topic: str, what_happens: Callable[[KafkaWriter], Awaitable[None]]
) -> WriterStatistics:
    """Write 0, 1, 2, ... with keys, round after round, before it happens and until it is over."""
    is_over = anyio.Event()

    async def happen() -> None:
        await what_happens(writer)
        is_over.set()

    await run_sync(lambda: cluster.create_topic(topic, PARTITIONS, 3, {"min.insync.replicas": "2"}))
    async with KafkaSink(bootstrap_servers=cluster.bootstrap, topic=topic).open() as writer:
        await writer.write_many(rows(0))
        await writer.flush()
        written = ROUND
        async with anyio.create_task_group() as group:
            group.start_soon(happen)
            while not is_over.is_set():
                await writer.write_many(rows(written))
                written += ROUND
                await anyio.sleep(PAUSE_S)
        await writer.flush()
        return writer.statistics()


def rows(first: int) -> list[KafkaRecord]:
    return [KafkaRecord(key=b"%d" % (at % KEYS), value=b"%d" % at) for at in range(first, first + ROUND)]


def assert_each_is_stored_once_and_in_order(cluster: KafkaCluster, topic: str, written: int) -> None:
    stored = [[int(each.value()) for each in read_back(cluster.bootstrap, topic, at)] for at in range(PARTITIONS)]
    assert all(stored)
    assert [sorted(each) for each in stored] == stored
    assert sorted(value for each in stored for value in each) == list(range(written))


async def test_a_broker_that_is_killed_and_comes_back_costs_no_row_and_doubles_none(cluster: KafkaCluster) -> None:
    leaders = Leaders(cluster, "killed")

    async def kill_and_start(writer: KafkaWriter) -> None:
        victim = await leaders.of(0)
        await run_sync(cluster.kill, victim)
        await until(lambda: leaders.have_left(victim))
        await run_sync(cluster.start, victim)

    counted = await write_through(cluster, "killed", kill_and_start)

    assert counted.failed_requests > 0, "no request has met the outage"
    assert counted.acknowledged == counted.accepted
    await run_sync(assert_each_is_stored_once_and_in_order, cluster, "killed", counted.accepted)


async def test_leaders_that_move_to_another_broker_and_back_cost_no_row_and_double_none(cluster: KafkaCluster) -> None:
    leaders = Leaders(cluster, "moved")
    failed: list[int] = []

    async def restart_and_give_back(writer: KafkaWriter) -> None:
        first = await leaders.of(0)
        await run_sync(cluster.stop, first)
        await run_sync(cluster.start, first)
        failed.append(writer.statistics().failed_requests)

        async def has_failed_again() -> bool:
            return writer.statistics().failed_requests > failed[0]

        # No connection breaks this time: the old leaders answer that they are none any more.
        await until(lambda: leaders.are_back(first))
        await until(has_failed_again)

    counted = await write_through(cluster, "moved", restart_and_give_back)

    assert counted.failed_requests > failed[0] > 0
    assert counted.acknowledged == counted.accepted
    await run_sync(assert_each_is_stored_once_and_in_order, cluster, "moved", counted.accepted)
