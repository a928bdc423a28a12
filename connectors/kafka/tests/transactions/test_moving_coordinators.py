"""Three brokers, of which the one that coordinates a transaction is killed between its two phases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.to_thread import run_sync

from asyncsink.transactions.committing import commit_until_done
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.committable import COMMITTABLES
from asyncsink_kafka.transactions.committer import KafkaCommitter
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_testing.kafka import KafkaCluster
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .conftest import CONFIG, PROPERTIES
from .preparing import committed_in, prepared, until

pytestmark = [pytest.mark.anyio, pytest.mark.nightly, pytest.mark.kafka_service, pytest.mark.timeout(240)]

COMMIT_S = 120.0
TOPIC = "moved"
REPLICATED = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}


@pytest.fixture
def cluster() -> Iterator[KafkaCluster]:
    with skipped_without_kafka(), KafkaCluster(3, properties=PROPERTIES | REPLICATED) as started:
        yield started


async def test_what_was_prepared_with_a_coordinator_that_is_gone_is_committed_by_its_successor(
    cluster: KafkaCluster,
) -> None:
    await run_sync(lambda: cluster.create_topic(TOPIC, 3, 3, {"min.insync.replicas": "2"}))
    options = KafkaOptions(bootstrap_servers=cluster.bootstrap, topic=TOPIC, delivery_guarantee="exactly-once")
    async with coordinators_of(options, CONFIG) as coordinators:
        two = [await prepared(coordinators, cluster.bootstrap, TOPIC, f"{TOPIC}-{each}", [each]) for each in "ab"]
        victim = coordinators._nodes[two[0].transactional_id]
    committer = KafkaCommitter(options, CONFIG)
    await committer.check(two)
    await run_sync(cluster.kill, victim)
    assert await commit_until_done(committer.commit, two, COMMITTABLES, COMMIT_S, "batch 0") is None
    await committer.check_destination()
    await committer.aclose()

    async def are_visible() -> bool:
        # What is decided becomes visible when partitions whose leader was killed have another one.
        return await run_sync(lambda: committed_in(cluster.bootstrap, TOPIC, timeout_s=60.0)) == ["a", "b"]

    await until(are_visible)
