"""The coordinator: two of them, of which one is a zombie, and what its log keeps."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from asyncsink import CommitError, LedgerError
from asyncsink.ledger.local import LocalStore
from asyncsink.transactions.log import Decision, Outcome
from asyncsink_testing.staged_sink import Staged, StagingArea

from .driver import Driver


def test_an_attempt_knows_what_was_committed_before_it(driver: Driver) -> None:
    assert driver.begin().committed is None
    driver.whole_batch("a", batch_id=7)
    begun = driver.begin()
    assert begun.committed is not None
    assert (begun.committed.batch_id, begun.committed.after.batch_id) == (7, 7)
    assert (begun.transaction.generation, begun.recovered) == (3, False)


def test_a_zombie_that_comes_to_commit_what_was_given_up_commits_nothing(
    driver: Driver, successor: Driver, area: StagingArea
) -> None:
    late = driver.prepared(driver.begin().transaction, "a")
    successor.whole_batch("a")
    with pytest.raises(LedgerError, match=r"batch 0 of 'orders' cannot be committed: attempt 1 .* was decided before"):
        driver.commit(late)
    driver.abort(late)
    assert area.visible == ["a"]


def test_nor_does_one_that_slept_until_nobody_remembers(driver: Driver, successor: Driver, area: StagingArea) -> None:
    late = driver.prepared(driver.begin().transaction, "a")
    batches = [f"batch {number}" for number in range(30)]
    for number, element in enumerate(batches):
        successor.whole_batch(element, batch_id=number)
    area.staged["late"] = ["a"]
    assert driver.log.decision(1) is None
    with pytest.raises(LedgerError, match=r"attempt 31 has begun in .*, and this was attempt 1"):
        driver.commit(late)
    assert area.visible == batches


def test_a_zombie_that_goes_on_with_a_commit_that_was_finished_for_it_changes_nothing(
    driver: Driver, successor: Driver, area: StagingArea
) -> None:
    decision = driver.prepared(driver.begin().transaction, "a")

    def finish() -> bool:
        begun = successor.begin()
        successor.commit(successor.prepared(begun.transaction, "b", batch_id=1))
        return begun.recovered

    def sleep(what: str) -> None:
        if what.startswith("commit "):
            area.meet = lambda _: None
            with ThreadPoolExecutor() as elsewhere:  # this thread has a loop already
                recovered.append(elsewhere.submit(finish).result())

    recovered: list[bool] = []
    area.meet = sleep
    driver.commit(decision)
    assert recovered == [True]
    assert area.visible == ["a", "b"]


def test_an_abort_after_the_decision_does_nothing(driver: Driver, successor: Driver, area: StagingArea) -> None:
    decision = driver.prepared(driver.begin().transaction, "a")
    driver.log.decide(decision)
    driver.abort(decision)
    assert list(area.staged.values()) == [["a"]]
    assert successor.begin().recovered
    assert area.visible == ["a"]


def test_an_abort_before_it_removes_what_was_prepared(driver: Driver, area: StagingArea) -> None:
    driver.abort(driver.prepared(driver.begin().transaction, "a"))
    assert area.staged == {}
    assert driver.begin().committed is None


def test_what_losing_attempts_of_a_batch_have_staged_is_swept(driver: Driver, area: StagingArea) -> None:
    decision = driver.prepared(driver.begin().transaction, "a")
    area.staged[f"{decision.transaction.sink_id}-1-0-1-1"] = ["a"]
    area.staged["somebody else's"] = ["z"]
    driver.commit(decision)
    assert area.visible == ["a"]
    assert list(area.staged) == ["somebody else's"]


def test_a_sweep_that_fails_is_a_warning(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any) -> None:
        raise OSError("nobody there")

    monkeypatch.setattr("asyncsink_testing.staged_sink.StagedCommitter.sweep", fail)
    with caplog.at_level(logging.WARNING):
        driver.whole_batch("a")
    assert "the committer of 'orders' could not sweep: OSError: nobody there" in caplog.text


def test_a_run_number_is_passed_on_until_an_attempt_is_not_finished(driver: Driver) -> None:
    driver.whole_batch("a")
    driver.whole_batch("b", batch_id=1)
    assert driver.begin().transaction.run == 0
    assert driver.begin().transaction.run == 1
    driver.whole_batch("c", batch_id=2)
    assert driver.begin().transaction.run == 2


def test_two_planners_at_once_are_two_queries_too_many(driver: Driver, successor: Driver) -> None:
    transaction = driver.begin().transaction
    with pytest.raises(LedgerError, match="two live queries or jobs share one location"):
        successor.log.begin(transaction)


def test_the_planner_that_is_refused_takes_nothing_away(
    driver: Driver, successor: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.whole_batch("a")
    known = successor.log.generations()
    live = driver.prepared(driver.begin().transaction, "b", batch_id=1)
    monkeypatch.setattr(successor.log, "generations", lambda: known)
    with pytest.raises(LedgerError, match="two live queries or jobs share one location"):
        successor.begin()
    driver.commit(live)
    assert area.visible == ["a", "b"]


def test_a_batch_that_is_skipped_leaves_the_one_before_it_as_the_last(driver: Driver) -> None:
    driver.whole_batch("a", batch_id=3)
    skipped = Decision(outcome=Outcome.SKIPPED, transaction=driver.begin().transaction, batch_id=3)
    driver.commit(skipped)
    begun = driver.begin()
    assert begun.committed is not None
    assert (begun.committed.batch_id, begun.transaction.run) == (3, 0)


def test_a_batch_without_rows_is_committed_without_asking_the_committer(driver: Driver, area: StagingArea) -> None:
    driver.whole_batch(batch_id=5)
    assert "commit" not in area.events
    committed = driver.begin().committed
    assert committed is not None
    assert committed.batch_id == 5


def test_the_log_keeps_few_files(driver: Driver, tmp_path: Path) -> None:
    for number in range(40):
        driver.whole_batch("a", batch_id=number)
        driver.begin()
    assert len([*(tmp_path / "transactions").iterdir()]) < 60


class Counting(LocalStore):
    """Counts its round trips."""

    calls: list[str]

    def within(self, folder: str) -> Counting:
        deeper = Counting(self._path(folder), self.location)
        deeper.calls = self.calls
        return deeper

    def __getattribute__(self, name: str) -> Any:
        if name in ("create", "names", "read", "remove", "replace"):
            self.calls.append(name)
        return super().__getattribute__(name)


def test_a_batch_after_one_that_was_finished_costs_six_round_trips(tmp_path: Path, area: StagingArea) -> None:
    store = Counting(tmp_path)
    store.calls = []
    driver = Driver(tmp_path, area, store)
    driver.whole_batch("a")
    store.calls.clear()
    driver.whole_batch("b", batch_id=1)
    assert store.calls == ["names", "read", "create", "create", "names", "create"]


@pytest.mark.parametrize("committer", ["StagedCommitter", "SnapshotCommitter"])
def test_a_destination_that_a_committer_refuses_is_written_to_by_no_attempt(
    tmp_path: Path, area: StagingArea, monkeypatch: pytest.MonkeyPatch, committer: str
) -> None:
    async def refuse(_: object) -> None:
        raise CommitError("nothing could be committed there")

    driver = Driver(tmp_path, area, publishes=True)
    with monkeypatch.context() as patch:
        patch.setattr(f"asyncsink_testing.staged_sink.{committer}.check_destination", refuse)
        with pytest.raises(CommitError, match="nothing could be committed there"):
            driver.begin()
    assert driver.begin().transaction.generation == 1


def test_a_committer_that_returns_what_it_was_not_given_is_refused(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def commit(*_: Any) -> list[Staged]:
        return [Staged("another")]

    monkeypatch.setattr("asyncsink_testing.staged_sink.StagedCommitter.commit", commit)
    with pytest.raises(CommitError, match="a committer returned a Staged that it was not given"):
        driver.whole_batch("a")


def test_so_is_a_filter_of_recovered_committables(
    tmp_path: Path, area: StagingArea, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(what: str) -> None:
        if what.startswith("publish"):
            raise OSError("nobody there")

    async def everything(self: Any, recovered: list[Any]) -> list[Any]:
        return [*recovered, *recovered]

    area.meet = fail
    with pytest.raises(
        CommitError, match=r"batch 0 of 'orders' is decided, and its commit failed with OSError: nobody"
    ):
        Driver(tmp_path, area, publishes=True).whole_batch("a")
    monkeypatch.setattr("asyncsink_testing.staged_sink.SnapshotCommitter.filter_recovered_committables", everything)
    with pytest.raises(CommitError, match="a committer returned a Snapshot that it was not given"):
        Driver(tmp_path, area, publishes=True).begin()


def test_committables_of_another_version_are_refused_with_the_version(driver: Driver, successor: Driver) -> None:
    transaction = driver.begin().transaction
    kept = ((7, b"what a later release wrote"),)
    driver.log.decide(Decision(outcome=Outcome.PREPARED, transaction=transaction, batch_id=0, committables=kept))
    with pytest.raises(CommitError, match="holds committables of version 7, which DataclassSerializer of version 1"):
        successor.begin()


@pytest.mark.parametrize(("name", "begins"), [("slot-1", 1), ("begin-2", 2), ("id", 2)])
def test_a_damaged_file_is_named_with_what_to_do(driver: Driver, tmp_path: Path, name: str, begins: int) -> None:
    driver.whole_batch("a")
    for _ in range(begins - 1):
        driver.begin()
    (tmp_path / "transactions" / name).write_bytes(b"{")
    with pytest.raises(LedgerError, match=rf"transactions/{name} is damaged .*remove the folder of the ledger"):
        driver.begin()
