"""Two-phase commits between Spark's processes, without Spark: what one of them forgets, and what another does then."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink import ConfigurationError, LedgerError, Schema, WriterInitContext
from asyncsink.ledger import Ledger
from asyncsink.options.door import DoorOptions
from asyncsink.spark import foreach_batch, transactions
from asyncsink.spark.commit import TaskCommit, summed
from asyncsink.spark.planning import Plan
from asyncsink.spark.recovery import Recovered
from asyncsink.transactions.committing import kept_committables
from asyncsink.transactions.transaction import Transaction
from asyncsink_http import HttpSink
from asyncsink_testing.staged_sink import Staged, StagedSink, StagingArea

Decided = dict[str, Any]


@pytest.fixture
def area() -> StagingArea:
    return StagingArea()


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Callable[[Decided], None]:
    """Goes to a process with other memories of what was committed."""

    def enter(remembered: Decided) -> None:
        monkeypatch.setattr(transactions, "_last", remembered)

    enter({})
    return enter


def job(area: StagingArea, state: Path | None, name: str | None = None, *, in_order: bool = False) -> Plan:
    door = DoorOptions.of(state_location=None if state is None else str(state))
    run_id = f"{id(area)}-{name}"
    return Plan("orders", StagedSink(area), Schema(()), run_id, False, door, None, True, name, in_order)


def written(plan: Plan, recovered: Recovered, *rows: str) -> list[TaskCommit]:
    """What the one task of a job tells the driver."""
    transaction = recovered.transaction
    assert transaction is not None
    told = TaskCommit(0, rows_in=len(rows), follows=recovered.state.batch_id, is_kept=True, transaction=transaction)
    if plan.job is not None and plan.job in recovered.jobs:
        return [replace(told, skipped=True)]
    return [
        replace(told, rows=len(rows), committables=kept_committables(plan.sink, _prepared(plan, transaction, rows)))
    ]


def _prepared(plan: Plan, transaction: Transaction, rows: tuple[str, ...]) -> list[Staged]:
    async def prepare() -> list[Staged]:
        writer = plan.sink.create_writer(WriterInitContext(transaction=transaction))
        await writer.write_many(rows)
        prepared: list[Staged] = await writer.prepare_commit(flush=True)
        return prepared

    return anyio.run(prepare)


def run(plan: Plan, *rows: str) -> list[TaskCommit]:
    tasks = written(plan, transactions.begin(plan), *rows)
    transactions.commit(plan, summed(plan.connector, None, tasks), tasks)
    return tasks


def test_jobs_of_a_state_that_was_removed_are_not_remembered_for_the_one_that_took_its_place(
    tmp_path: Path, area: StagingArea, process: Callable[[Decided], None]
) -> None:
    """Commit processes are many, and each remembers what it has committed last."""
    state, first = tmp_path / "state", Decided()
    process(first)
    run(job(area, state, "before"), "old")
    shutil.rmtree(state)
    process({})
    run(job(area, state, "monday"), "a")
    process(first)
    run(job(area, state, "tuesday"), "b")
    run(job(area, state, "monday"), "a")
    run(job(area, state, "before"), "c")
    assert area.visible == ["old", "a", "b", "c"]


def test_an_abort_after_a_job_without_a_state_was_committed_removes_nothing(
    area: StagingArea, process: Callable[[Decided], None]
) -> None:
    """The process that has committed may die before it can say so: Spark then asks another one to abort."""
    plan = job(area, None)
    tasks = run(plan, "a")
    transactions.abort(plan, None, tasks)
    assert "abort" not in area.events
    assert not transactions._own_folder(plan).exists()


def test_an_abort_before_it_removes_what_was_prepared(area: StagingArea, process: Callable[[Decided], None]) -> None:
    plan = job(area, None)
    transactions.abort(plan, None, written(plan, transactions.begin(plan), "a"))
    assert (area.staged, area.visible) == ({}, [])
    assert not transactions._own_folder(plan).exists()


def test_a_job_whose_end_cannot_be_noted_is_committed(
    tmp_path: Path,
    area: StagingArea,
    process: Callable[[Decided], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, "commit", fail)
    with caplog.at_level(logging.WARNING):
        run(job(area, tmp_path), "a")
    assert "a batch is committed, but what became of it cannot be noted: the disk is full" in caplog.text
    assert area.visible == ["a"]


def test_a_micro_batch_of_foreach_batch_before_the_last_one_is_refused(
    tmp_path: Path, area: StagingArea, process: Callable[[Decided], None]
) -> None:
    for name in ("q/8", "q/9", "q/9.1", "q/10", "r/3"):
        run(job(area, tmp_path, name, in_order=True), name)
    run(job(area, tmp_path, "q/10", in_order=True), "q/10")
    for name in ("q/9", "q/7"):
        with pytest.raises(
            LedgerError, match=rf"micro-batch {name[2:]} of q, .* micro-batch 10 was committed: .*rewou"
        ):
            run(job(area, tmp_path, name, in_order=True), "other rows")
    assert area.visible == ["q/8", "q/9", "q/9.1", "q/10", "r/3"]


def test_one_by_the_last_ones_number_with_other_rows_is_refused(
    tmp_path: Path, area: StagingArea, process: Callable[[Decided], None]
) -> None:
    run(job(area, tmp_path, "q/3", in_order=True), "a")
    with pytest.raises(LedgerError, match=r"handed over 2 rows as micro-batch q/3, .* was committed with 1: another"):
        run(job(area, tmp_path, "q/3", in_order=True), "a", "b")


def test_names_that_users_give_to_jobs_have_no_order(
    tmp_path: Path, area: StagingArea, process: Callable[[Decided], None]
) -> None:
    for name in ("2024/6", "2024/5"):
        run(job(area, tmp_path, name), name)
    assert area.visible == ["2024/6", "2024/5"]


def test_one_name_for_all_micro_batches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"option 'jobId' = 'monday' would give all micro-batches one name"):
        foreach_batch(HttpSink(url="http://127.0.0.1:9/"), jobId="monday", stateLocation=str(tmp_path))
