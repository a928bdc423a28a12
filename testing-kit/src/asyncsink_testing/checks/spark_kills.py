"""The connector through Spark whose processes are killed, and whose queries end between delivery and commit."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from asyncsink_testing.chaos.processes import is_supported, kill, python_processes
from asyncsink_testing.checks.through_spark import (
    LIMIT_S,
    check_done,
    error_of,
    in_thread,
    put_file,
    rows_and_frame,
    session_of,
    stream,
    stream_error,
    write,
)
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.conformance.watching import until
from asyncsink_testing.faults import Fault

_LIMIT_S = 2 * LIMIT_S
"""Four queries, or workers that start twice."""
_ARRIVE_S = 60.0
"""Spark may have to start its workers first, on a machine that is busy."""
_CLAIM_S = 2.0
"""So long may a connector keep still: one that takes no answer for an answer has had its time to say so."""


@check("spark-replay", group="spark", since="0.1", needs=[Fault.FATAL], limit_s=_LIMIT_S)
async def spark_replay(trial: Trial) -> None:
    """A micro-batch that was not committed is delivered again whole, be it that some or all of its rows were stored.

    A query fails for good when one request of its second micro-batch is stored; another goes on from its checkpoint.
    Then the mark by which Spark knows the micro-batch for committed is taken away, as if the driver had been killed
    between delivery and commit, and a third query delivers it once more. Nothing may be lost; where the destination
    drops repetitions, nothing may stand there twice. Look for notes of what was begun that outlive a failure, and for
    ids that are made when a write is planned: a repetition has the ids that `InitContext` makes of it.
    """
    session = await session_of(trial)
    first = trial.rows(trial.batch + 1)
    second = trial.rows(3 * trial.batch, first=100)
    with TemporaryDirectory() as name:
        folder = Path(name)
        put_file(folder, 0, first)
        await stream(trial, session, folder)
        put_file(folder, 1, second)
        trial.destination.script([Fault.OK], then=Fault.FATAL)
        if await stream_error(trial, session, folder) is None:
            trial.fail(
                "a query whose requests were refused for good has ended as if all was stored: look for an error of the "
                "service that the connector takes for success, and for rows that a repeated task leaves out"
            )
        trial.destination.script([])
        await stream(trial, session, folder)
        (await trial.seen([*first, *second])).nothing_lost().intact()
        _forget_commit(folder, 1)
        await stream(trial, session, folder)
    delivery = (await trial.seen([*first, *second])).nothing_lost().intact()
    if delivery.never_twice:
        delivery.nothing_doubled()


def _forget_commit(folder: Path, batch: int) -> None:
    """Put the checkpoint back to where the micro-batch is delivered and not committed."""
    commits = folder / "checkpoint" / "commits"
    (commits / str(batch)).unlink()
    (commits / f".{batch}.crc").unlink(missing_ok=True)


@check("spark-kill-worker", group="spark", since="0.1", needs=[Fault.HANGING], sees_requests=True, limit_s=_LIMIT_S)
async def spark_kill_worker(trial: Trial) -> None:
    """A Python worker that is killed while it writes loses nothing: its task is run again, and delivers all rows.

    The destination stores the first request and leaves the others without an answer; then Spark's workers get a
    SIGKILL. Nothing in them runs any more, no `finally` and no `aclose`; Spark repeats the task in a new worker. Look
    for rows that are reported as stored before the service has said so, and for notes outside the process that only a
    handler of errors puts right. Linux only.
    """
    session = await session_of(trial)
    if not is_supported():
        raise NotApplicableError("Spark's workers are found in /proc, which this system does not have")
    rows, frame = rows_and_frame(trial, session, 4 * trial.batch, partitions=1)
    trial.destination.script([Fault.OK], then=Fault.HANGING)
    job = _Job(trial, session, trial.subject.spark_columns(frame))
    async with anyio.create_task_group() as group:
        group.start_soon(job.run)
        await _is_writing(trial, job)
        trial.destination.script([])
        # Those of this process's Spark alone, be they at work or idle.
        killed = [pid for pid in python_processes("worker", os.getpid()) if kill(pid)]
        if not killed:
            trial.fail(
                "none of Spark's Python workers was found while rows were being written; this is a bug of the kit"
            )
    check_done(trial, job.told)
    delivery = (await trial.seen(rows)).nothing_lost().intact()
    if delivery.never_twice:
        delivery.nothing_doubled()


async def _is_writing(trial: Trial, job: _Job) -> None:
    """Wait until a request hangs, and until a connector that does not wait for its answer has gone on."""
    if not await until(lambda: len(trial.destination.requests or ()) >= 2 or job.is_done, _ARRIVE_S):
        trial.fail("no second request arrived: look for rows that are held back until the first is answered")
    await until(lambda: job.is_done, _CLAIM_S)


class _Job:
    """A batch job in a thread of its own."""

    def __init__(self, trial: Trial, session: Any, frame: Any) -> None:
        self._trial, self._session, self._frame = trial, session, frame
        self.is_done = False
        self.told: str | None = None
        """The sentence that users read, if it has failed."""

    async def run(self) -> None:
        """Returns when it has ended, however it did."""
        self.told = await in_thread(
            self._session, lambda: error_of(lambda: write(self._trial, self._frame, "asyncsink"))
        )
        self.is_done = True
