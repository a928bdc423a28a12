"""Committers that hang, fail where it does no harm, or say less than they must."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink import (
    CommitError,
    CommitTimedOutError,
    ConfigurationError,
    FatalRequestError,
    LostCommittablesError,
)
from asyncsink.transactions.coordinator import Coordinator
from asyncsink.transactions.log import Decision
from asyncsink_testing.staged_sink import SnapshotCommitter, Staged, StagedCommitter, StagingArea

from .driver import Driver


async def hang(*_: Any) -> Any:
    await anyio.sleep_forever()


def refuse(error: Exception) -> Callable[..., Awaitable[Any]]:
    async def fail(*_: Any) -> Any:
        raise error

    return fail


def as_job(decision: Decision) -> Decision:
    return Decision(
        outcome=decision.outcome, transaction=decision.transaction, job="monday", committables=decision.committables
    )


def test_a_loss_of_nothing_is_no_commit(
    driver: Driver, successor: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who names nothing that is lost would have everything count as committed."""
    with monkeypatch.context() as patch:
        patch.setattr(StagedCommitter, "commit", refuse(LostCommittablesError("it timed out")))
        with pytest.raises(CommitError, match=r"LostCommittablesError \(it timed out\) and named no committable"):
            driver.whole_batch("a")
    assert successor.begin().recovered
    assert area.visible == ["a"]


def test_nor_is_a_loss_of_something_else(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StagedCommitter, "commit", refuse(LostCommittablesError("gone", [Staged("another")])))
    with pytest.raises(CommitError, match="a committer returned a Staged that it was not given"):
        driver.whole_batch("a")


@pytest.mark.parametrize("method", ["combine", "end_of_input"])
def test_a_global_committer_that_hangs_is_given_up_in_time(
    tmp_path: Path, area: StagingArea, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    driver = Driver(tmp_path, area, timeout_s=0.05, publishes=True)
    with monkeypatch.context() as patch:
        patch.setattr(SnapshotCommitter, method, hang)
        decision = driver.prepared(driver.begin().transaction, "a")
        with pytest.raises(CommitTimedOutError, match=rf"{method} of the GlobalCommitter .* 0.05 s .*commitTimeout.*"):
            driver.commit(decision, end_of_input=True)
    assert driver.begin().recovered
    assert area.published == ["a"]


def test_so_is_one_that_does_not_filter(tmp_path: Path, area: StagingArea, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(tmp_path, area, timeout_s=0.05, publishes=True)
    driver.log.decide(driver.prepared(driver.begin().transaction, "a"))
    with monkeypatch.context() as patch:
        patch.setattr(SnapshotCommitter, "filter_recovered_committables", hang)
        with pytest.raises(CommitTimedOutError, match="filter_recovered_committables of the GlobalCommitter has not"):
            driver.begin()
    assert driver.begin().recovered


def test_a_batch_job_that_is_finished_by_its_successor_is_told_the_end_of_its_input(
    tmp_path: Path, area: StagingArea
) -> None:
    driver = Driver(tmp_path, area, publishes=True)
    driver.log.decide(as_job(driver.prepared(driver.begin().transaction, "a")))
    driver.begin()
    assert area.events.count("end_of_input") == 1


def test_a_micro_batch_that_is_finished_by_its_successor_is_not(tmp_path: Path, area: StagingArea) -> None:
    driver = Driver(tmp_path, area, publishes=True)
    driver.log.decide(driver.prepared(driver.begin().transaction, "a"))
    assert driver.begin().recovered
    assert "end_of_input" not in area.events


def test_a_committer_that_cannot_be_closed_has_committed(
    driver: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(StagedCommitter, "aclose", refuse(OSError("already gone")))
    with caplog.at_level(logging.WARNING):
        driver.whole_batch("a")
    assert "the committer of 'orders' could not be closed: OSError: already gone" in caplog.text
    assert driver.log.generations().is_finished
    assert area.visible == ["a"]


def test_what_is_put_off_is_told_once(driver: Driver, area: StagingArea, caplog: pytest.LogCaptureFixture) -> None:
    decision = driver.prepared(driver.begin().transaction, "a")
    area.postponed = dict.fromkeys(area.staged, 2)
    with caplog.at_level(logging.WARNING):
        driver.commit(decision)
    assert area.events.count("commit") == 3
    assert caplog.text.count("1 of 1 committables of batch 0 of 'orders' were put off by their committer") == 1


def test_an_abort_by_a_zombie_that_slept_until_nobody_remembers_removes_nothing(
    driver: Driver, successor: Driver, area: StagingArea
) -> None:
    late = driver.prepared(driver.begin().transaction, "a")
    driver.log.decide(late)
    for number in range(1, 30):
        successor.whole_batch(json.dumps(number), batch_id=number)
    assert area.visible[0] == "a"
    assert driver.log.decision(1) is None
    driver.abort(late)
    assert "abort" not in area.events


async def lose_what_may_be_committed(_: Any, committables: list[Staged]) -> list[Staged]:
    raise LostCommittablesError("its name was used since", committables, may_be_committed=True)


def test_what_may_have_been_committed_is_not_written_again_by_itself(
    driver: Driver, successor: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is lost, and yet nobody knows that nothing of it was committed."""
    driver.log.decide(driver.prepared(driver.begin().transaction, "a"))
    told = (
        r"cannot tell of 1 of 1 committables of batch 0 of 'orders' whether they were committed \(its name was used "
        r"since\); look there .* remove slot-1 from .* create a file done-1 there"
    )
    monkeypatch.setattr(StagedCommitter, "commit", lose_what_may_be_committed)
    for _ in range(2):
        with pytest.raises(CommitError, match=told):
            successor.begin()


def test_one_that_was_surely_lost_does_not_make_the_others_sure(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committer tells them one after the other: what it said first of one counts to the end."""
    calls: list[int] = []

    async def lose(_: Any, committables: list[Staged]) -> list[Staged]:
        calls.append(len(committables))
        first, *others = committables
        raise LostCommittablesError("gone", [first], others, may_be_committed=len(calls) == 1)

    begun = driver.begin().transaction
    first, second = (driver.prepared(replace(begun, generation=number), "a") for number in (1, 2))
    driver.log.decide(replace(first, committables=first.committables + second.committables))
    monkeypatch.setattr(StagedCommitter, "commit", lose)
    with pytest.raises(CommitError, match="cannot tell of 2 of 2 committables"):
        driver.begin()
    assert calls == [2, 1]


def test_what_the_committer_finds_lost_before_the_decision_is_not_decided(
    driver: Driver, successor: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def check(_: Any, committables: list[Staged]) -> None:
        asked.extend(committables)
        raise CommitError("too little time is left")

    decision = driver.prepared(driver.begin().transaction, "a")
    with monkeypatch.context() as patch:
        patch.setattr(StagedCommitter, "check", check)
        with pytest.raises(CommitError, match="too little time is left"):
            driver.commit(decision)
    assert len(asked) == 1
    assert driver.log.decision(1) is None
    assert area.visible == []
    successor.whole_batch("a")
    assert area.visible == ["a"]


async def find_another(*_: Any) -> None:
    raise ConfigurationError("another query has the prefix 'orders'")


def test_a_job_without_a_name_does_not_fail_for_what_is_found_once_it_is_committed(
    driver: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It would be run again, and write its rows once more."""
    decision = replace(driver.prepared(driver.begin().transaction, "a"), batch_id=None)
    monkeypatch.setattr(StagedCommitter, "sweep", find_another)
    with caplog.at_level(logging.WARNING):
        driver.commit(decision)
    assert "the batch job to 'orders' is committed, and not to be run so again: another query has the" in caplog.text
    assert driver.log.generations().is_finished
    assert area.visible == ["a"]


@pytest.mark.parametrize("is_job", [False, True], ids=["micro-batch", "named job"])
def test_what_a_successor_finds_committed_does(
    driver: Driver, successor: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch, is_job: bool
) -> None:
    decision = driver.prepared(driver.begin().transaction, "a")
    with monkeypatch.context() as patch:
        patch.setattr(StagedCommitter, "sweep", find_another)
        with pytest.raises(ConfigurationError, match="another query has the prefix 'orders'"):
            driver.commit(as_job(decision) if is_job else decision)
    assert successor.begin().recovered
    assert area.visible == ["a"]


@pytest.mark.parametrize("is_certain", [True, False])
def test_nobody_is_told_to_mend_a_log_that_is_gone_with_its_job(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, is_certain: bool
) -> None:
    begun = driver.begin().transaction
    first, second = (driver.prepared(replace(begun, generation=number), "a") for number in (1, 2))
    decision = replace(first, committables=first.committables + second.committables)

    async def lose(_: Any, committables: list[Staged]) -> list[Staged]:
        raise LostCommittablesError("gone", committables[:1], may_be_committed=not is_certain)

    monkeypatch.setattr(StagedCommitter, "commit", lose)
    coordinator = Coordinator("orders", driver.sink, driver.log, is_kept=False)
    with pytest.raises(CommitError, match="remove what is visible of it before it is run again, or have") as caught:
        anyio.run(coordinator.commit, decision)
    assert "slot-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("is_kept", "told"),
    [
        (True, "it stays prepared, and is committed when the job starts again, before anything is written"),
        (False, "nobody will commit the rest, as the job has no stateLocation; remove what is visible of it before"),
    ],
)
def test_what_the_destination_refuses_once_it_is_decided_is_told_with_what_follows(
    driver: Driver, area: StagingArea, monkeypatch: pytest.MonkeyPatch, is_kept: bool, told: str
) -> None:
    decision = driver.prepared(driver.begin().transaction, "a")
    coordinator = Coordinator("orders", driver.sink, driver.log, is_kept=is_kept)
    refusal = FatalRequestError("permission was taken away")
    with monkeypatch.context() as patch:
        patch.setattr(StagedCommitter, "commit", refuse(refusal))
        with pytest.raises(
            CommitError, match=f"decided, and its commit failed with FatalRequestError: perm.*{told}"
        ) as caught:
            anyio.run(coordinator.commit, decision)
    assert caught.value.__cause__ is refusal
    assert driver.begin().recovered
    assert area.visible == ["a"]
