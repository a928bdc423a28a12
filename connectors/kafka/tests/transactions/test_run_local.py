"""Records by run_local: each of them once, wherever a run is killed, and no transaction is left open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import asyncsink.local_run
from asyncsink import CommitError, LocalRun, run_local
from asyncsink.ledger import open_store
from asyncsink.transactions.log import TransactionLog
from asyncsink_kafka import KafkaSink
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_kafka.transactions.session import TransactionSession
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.killing import Killed, Points, WatchedStore

from .conftest import CONFIG
from .preparing import committed_in, until

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(300)]

VALUES = [f"{number:02}" for number in range(10)]
BEFORE_COMMIT = re.compile(r"before end of .+-\d+-\d+-\d+")
"""Decided, and no broker has heard of it. What is asked of a destination beforehand bears another kind of id."""


class Trial:
    """A topic with runs that may be killed."""

    def __init__(self, broker: KafkaBroker, topic: str, state: Path, **options: Any) -> None:
        self.broker, self.topic, self.state = broker, topic, state
        self.sink = KafkaSink(
            bootstrap_servers=broker.bootstrap, topic=topic, delivery_guarantee="exactly-once", **options
        )

    def run(self, values: Sequence[str] = VALUES, every: int | None = 4) -> LocalRun:
        return anyio.run(partial(run_local, self.sink, values, self.state, checkpoint_every=every))

    def attempt(self, kill_at: int | re.Pattern[str] | None = None) -> list[str]:
        """Run to the end, or to the point at which it is killed; the points it came to."""
        points = Points(kill_at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncsink.local_run, "open_store", lambda _: WatchedStore.at(self.state, points))
            for name in ("describe", "end", "fence"):
                patch.setattr(TransactionCoordinators, name, watched(getattr(TransactionCoordinators, name), points))
            # A process that is killed aborts nothing.
            patch.setattr(TransactionSession, "abort", nothing)
            try:
                self.run()
            except* Killed:
                pass
        return points.passed

    def check(self) -> None:
        assert committed_in(self.broker.bootstrap, self.topic, least=len(VALUES)) == VALUES
        anyio.run(self.ended)

    async def ended(self) -> None:
        """Return when the brokers have ended all that was prepared."""

        async def are_ended() -> bool:
            return not await self._open()

        await until(are_ended)

    async def _open(self) -> list[str]:
        async with coordinators_of(self.sink.options, CONFIG) as coordinators:
            sink_id = TransactionLog(open_store(str(self.state))).sink_id()
            return await coordinators.open_with(f"{self.sink.options.transaction_prefix}-{sink_id}-")


async def nothing(*_: object) -> None:
    """In the place of what a dead process does not do."""


def watched(call: Any, points: Points) -> Any:
    """A request that is a point before and after it."""

    async def asked(self: TransactionCoordinators, of: Any, *arguments: Any, **more: Any) -> Any:
        points(f"before {call.__name__} of {of}")
        answer = await call(self, of, *arguments, **more)
        points(f"after {call.__name__} of {of}")
        return answer

    return asked


@pytest.mark.parametrize("every", [None, 1, 4, 50])
def test_all_values_are_committed_once(broker: KafkaBroker, topic: str, tmp_path: Path, every: int | None) -> None:
    trial = Trial(broker, topic, tmp_path)
    assert trial.run(every=every).position == len(VALUES)
    trial.check()
    assert trial.run(every=every).commits == 1
    trial.check()


def test_a_run_that_is_killed_at_any_point_is_finished_by_the_next(broker: KafkaBroker, tmp_path: Path) -> None:
    broker.create_topic("whole", 3)
    passed = Trial(broker, "whole", tmp_path / "whole").attempt()
    assert {point.split(" ")[1] for point in passed} >= {"describe", "end", "creating"}
    for kill_at in range(len(passed)):
        broker.create_topic(f"killed-{kill_at}", 3)
        trial = Trial(broker, f"killed-{kill_at}", tmp_path / str(kill_at))
        assert len(trial.attempt(kill_at)) == kill_at
        trial.attempt()
        trial.check()


def test_a_batch_that_was_decided_and_expired_as_a_whole_is_written_again(
    broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    dying = Trial(broker, topic, tmp_path, transaction_timeout_s=5.0)
    dying.attempt(BEFORE_COMMIT)
    anyio.run(dying.ended)
    # What the next one writes is not to expire, however slow the machine is.
    trial = Trial(broker, topic, tmp_path)
    assert trial.run().position == len(VALUES)
    trial.check()


def test_a_prefix_that_another_live_query_has_is_refused(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    first = Trial(broker, topic, tmp_path / "first", transactional_id_prefix="orders")
    first.attempt(BEFORE_COMMIT)
    second = Trial(broker, topic, tmp_path / "second", transactional_id_prefix="orders")
    with pytest.raises(Exception, match="'transactionalIdPrefix' = 'orders' is in use by another query, which has"):
        second.run()
    first.run()
    first.check()


def test_a_transaction_without_time_left_is_not_decided(
    broker: KafkaBroker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(broker, topic, tmp_path)
    monkeypatch.setattr("asyncsink_kafka.transactions.committer.LEAST_LEFT", 1.0)
    with pytest.raises(CommitError, match=r"of the 900 s \(transactionTimeout\) of the transaction 'asyncsink-"):
        trial.run()
    monkeypatch.undo()
    trial.run()
    trial.check()
