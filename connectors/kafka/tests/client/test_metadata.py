from __future__ import annotations

import anyio
import pytest
import trio.testing

from asyncsink.errors import RequestError
from asyncsink_kafka.client import UnknownTopicError, connect
from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.client.metadata import Topics
from asyncsink_testing.kafka import MockCluster

from .batches import config_of, options_for

pytestmark = pytest.mark.anyio


class Cluster:
    """aiokafka's client and its metadata, of a cluster that answers as it is told to."""

    def __init__(
        self, *, answers: bool = True, unauthorized: frozenset[str] = frozenset(), vanishes: bool = False
    ) -> None:
        self.cluster = self
        self.topics: dict[str, set[int]] = {"known": {0, 1, 2}}
        self.asked: list[str] = []
        self.updates = 0
        self.unauthorized_topics = unauthorized
        self._answers, self._vanishes = answers, vanishes

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self.topics.get(topic)

    def available_partitions_for_topic(self, topic: str) -> set[int]:
        return self.topics[topic] - {1}

    def add_topic(self, topic: str) -> None:
        self.asked.append(topic)

    async def force_metadata_update(self) -> bool:
        self.updates += 1
        if self._vanishes:
            self.topics.clear()
        elif self.updates == 3:
            self.topics["late"] = {0}
            self.topics["known"] |= {3, 4}
        return self._answers


async def test_partitions_without_a_leader_are_not_available() -> None:
    assert await Topics(1.0, 0.001).partitions(Cluster(), "known") == (3, [0, 2])


async def test_a_topic_is_named_to_the_client_once_though_it_knows_it() -> None:
    topics, cluster = Topics(1.0, 0.001), Cluster()
    for _ in range(3):
        await topics.partitions(cluster, "known")

    assert cluster.asked == ["known"]
    assert cluster.updates == 0


async def test_a_topic_that_is_not_there_yet_is_waited_for() -> None:
    cluster = Cluster()
    assert await Topics(5.0, 0.001).partitions(cluster, "late") == (1, [0])
    assert cluster.updates == 3


async def test_a_partition_that_is_not_known_yet_is_asked_for() -> None:
    cluster = Cluster()
    assert await Topics(5.0, 0.001).partitions(cluster, "known", 2) == (3, [0, 2])
    assert cluster.updates == 0
    assert await Topics(5.0, 0.001).partitions(cluster, "known", 4) == (5, [0, 2, 3, 4])
    assert cluster.updates == 3


@pytest.mark.parametrize("anyio_backend", [("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})])
async def test_a_partition_that_nobody_makes_is_not_asked_for_again_until_max_block_is_over_again() -> None:
    topics, cluster = Topics(60.0, 1.0), Cluster()
    assert await topics.partitions(cluster, "known", 5) == (5, [0, 2, 3, 4])
    assert (anyio.current_time(), cluster.updates) == (60.0, 60)
    for partition in (5, 9, 0):
        assert (await topics.partitions(cluster, "known", partition))[0] == 5
    assert (anyio.current_time(), cluster.updates) == (60.0, 60)
    await anyio.sleep(60)
    await topics.partitions(cluster, "known", 5)
    assert (anyio.current_time(), cluster.updates) == (180.0, 120)


async def test_a_batch_for_a_partition_that_the_last_answer_lacked_is_not_refused_before_another_one() -> None:
    topics, cluster = Topics(5.0, 0.001), Cluster()
    await topics.check(cluster, "known", 4)
    assert cluster.updates == 3


async def test_a_topic_that_goes_while_a_partition_of_it_is_waited_for_is_unknown() -> None:
    cluster = Cluster(vanishes=True)
    topics = Topics(0.02, 0.001)
    assert (await topics.partitions(cluster, "known"))[0] == 3
    with pytest.raises(UnknownTopicError, match="no topic 'known'"):
        await topics.partitions(cluster, "known", 7)


async def test_a_topic_that_nobody_makes_is_unknown_after_max_block() -> None:
    with pytest.raises(UnknownTopicError, match=r"no topic 'never', nor has made one within maxBlock = 0\.02 s"):
        await Topics(0.02, 0.001).partitions(Cluster(), "never")


async def test_a_cluster_that_does_not_answer_knows_nothing_of_topics() -> None:
    with pytest.raises(RequestError) as caught:
        await Topics(0.02, 0.001).partitions(Cluster(answers=False), "never")

    assert caught.value.code == "NETWORK_EXCEPTION"


async def test_a_topic_that_may_not_be_seen_is_said_at_once() -> None:
    with pytest.raises(RequestError) as caught:
        await Topics(60.0, 0.001).partitions(Cluster(unauthorized=frozenset({"secret"})), "secret")

    assert caught.value.code == "TOPIC_AUTHORIZATION_FAILED"


async def test_a_topic_of_a_broker_that_is_down_is_not_taken_for_unknown(handover: Handover) -> None:
    with MockCluster() as cluster:
        async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
            cluster.stop_broker(1)
            with pytest.raises(RequestError) as caught:
                await client.partitions("any")

    assert caught.value.code == "NETWORK_EXCEPTION"
