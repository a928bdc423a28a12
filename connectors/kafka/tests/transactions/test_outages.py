"""A broker that is away while transactions are committed, and what can be settled of those that it has lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from asyncsink import CommitError, RetryPolicy
from asyncsink.ledger import open_store
from asyncsink.transactions.committing import as_kept, commit_until_done
from asyncsink.transactions.coordinator import Coordinator
from asyncsink.transactions.log import Decision, Outcome, TransactionLog
from asyncsink_kafka import KafkaSink
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.committable import COMMITTABLES, KafkaTransaction
from asyncsink_kafka.transactions.committer import KafkaCommitter
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .conftest import CONFIG, PROPERTIES
from .preparing import committed_in, prepared, until_ended

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(180)]

IMPATIENT = replace(CONFIG, retry=RetryPolicy(timeout_s=1.0, initial_backoff_s=0.01, max_backoff_s=0.2))
COMMIT_S = 100.0


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """One of this module's own, as it is killed."""
    with skipped_without_kafka(), KafkaBroker(properties=PROPERTIES) as started:
        yield started


@pytest.fixture
async def two(coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str) -> list[KafkaTransaction]:
    """Of two tasks."""
    return [await prepared(coordinators, broker.bootstrap, topic, f"{topic}-{each}", [each]) for each in "ab"]


class Query:
    """A checkpoint in which a batch of two tasks is decided, and whose driver is dead."""

    def __init__(self, folder: Path, options: KafkaOptions, two: list[KafkaTransaction]) -> None:
        self.log = TransactionLog(open_store(str(folder)))
        self.coordinator = Coordinator("orders", KafkaSink(options), self.log)
        self._two = two

    async def decide(self) -> None:
        begun = await self.coordinator.begin()
        kept = as_kept(COMMITTABLES, self._two)
        self.log.decide(
            Decision(outcome=Outcome.PREPARED, transaction=begun.transaction, batch_id=0, committables=kept)
        )


async def test_a_batch_of_which_a_part_is_committed_and_the_rest_expired_is_refused_with_both_remedies(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str, options: KafkaOptions, tmp_path: Path
) -> None:
    first = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["a"])
    second = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-b", ["b"], timeout_ms=200)
    query = Query(tmp_path, options, [first, second])
    await query.decide()
    assert await KafkaCommitter(options, CONFIG).commit([first]) == []
    await until_ended(coordinators, second.transactional_id)
    told = (
        r"lost 1 of 2 committables of batch 0 of 'orders' \('.*-b' is lost: INVALID_PRODUCER_EPOCH, and the id is "
        r"CompleteAbort with epoch 1\), and the others are committed; .* remove slot-1 from .* file done-1 there"
    )
    for _ in range(2):
        with pytest.raises(CommitError, match=told):
            await query.coordinator.begin()
    (tmp_path / "transactions" / "done-1").write_text("")
    assert (await query.coordinator.begin()).transaction.generation == 2
    assert committed_in(broker.bootstrap, topic, least=1) == ["a"]


async def test_a_batch_of_which_nobody_knows_a_part_is_refused_too(
    coordinators: TransactionCoordinators,
    two: list[KafkaTransaction],
    options: KafkaOptions,
    tmp_path: Path,
) -> None:
    query = Query(tmp_path, options, two)
    await query.decide()
    for each in two:
        await coordinators.fence(each.transactional_id, 60_000)
    with pytest.raises(
        CommitError, match=r"cannot tell of 2 of 2 committables .* whether they were .* remove slot-1 f"
    ):
        await query.coordinator.begin()


async def test_a_commit_goes_on_when_the_broker_is_back(
    two: list[KafkaTransaction], broker: KafkaBroker, topic: str, options: KafkaOptions
) -> None:
    async def start() -> None:
        await run_sync(broker.start)

    committer = KafkaCommitter(options, IMPATIENT)
    await run_sync(broker.kill)
    assert await committer.commit(two) == two
    async with anyio.create_task_group() as group:
        group.start_soon(start)
        assert await commit_until_done(committer.commit, two, COMMITTABLES, COMMIT_S, "batch 0") is None
    await committer.aclose()
    assert committed_in(broker.bootstrap, topic, least=2) == ["a", "b"]


async def test_so_does_one_that_had_its_connections_already(
    two: list[KafkaTransaction], broker: KafkaBroker, topic: str, options: KafkaOptions
) -> None:
    committer = KafkaCommitter(options, IMPATIENT)
    await committer.check(two)
    await run_sync(broker.kill)
    assert set(await committer.commit(two)) == set(two)
    await run_sync(broker.start)
    assert await commit_until_done(committer.commit, two, COMMITTABLES, COMMIT_S, "batch 0") is None
    await committer.aclose()
    assert committed_in(broker.bootstrap, topic, least=2) == ["a", "b"]
