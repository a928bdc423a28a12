"""Cancellation: it ends a writer at once, loses nothing, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from asyncsink.sink import SinkWriter
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.conformance.watching import live_tasks, task_name, until
from asyncsink_testing.faults import Fault

_MORE_THAN_FITS = 200
"""Rows that no buffer of these options holds, so that a write waits."""
_SETTLE_S, _END_S = 0.02, 5.0
_AT_ONCE_S = 3.0
"""Seconds that are no wait yet, on a machine that stalls."""
_REFUSALS = 12
_GROUP = "lifecycle"


@dataclass(slots=True)
class _Run:
    """A task that writes to a destination which stops to answer, and that is cancelled then.

    :ivar seen: requests that had arrived when it ceased to answer
    :ivar accepted: the writes that have returned
    :ivar left_s: seconds from the cancellation until the writer was left
    :ivar ran_on: what went on although it was cancelled
    :ivar error: what was raised in place of the cancellation
    """

    trial: Trial
    writer: SinkWriter[Any, Any, Any]
    answered: Sequence[Row]
    hanging: Sequence[Row]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    hangs: anyio.Event = field(default_factory=anyio.Event)
    seen: int = 0
    accepted: int = 0
    left_s: float = 0.0
    ran_on: str | None = None
    error: Exception | None = None

    @classmethod
    async def ended(cls, trial: Trial, hanging: int) -> _Run:
        """A run that is over; `hanging` rows are written when the destination answers no more."""
        writer = trial.writer({"requestTimeout": "60s", "maxTimeInBuffer": "10ms"})
        run = cls(trial, writer, trial.rows(trial.batch), trial.rows(hanging, first=1_000))
        trial.destination.script([])
        async with anyio.create_task_group() as group:
            group.start_soon(run._write)
            await run.hangs.wait()
            if run.error is None:
                await trial.requests_arrived(run.seen + 1)
                await anyio.sleep(_SETTLE_S)
            run.scope.cancel()
            cancelled_s = anyio.current_time()
        run.left_s = anyio.current_time() - cancelled_s
        return run

    async def _write(self) -> None:
        try:
            with self.scope:
                async with self.writer:
                    await self._write_all()
                self._goes_on("leaving the writer")
        except Exception as error:
            self.error = error
        finally:
            self.hangs.set()

    async def _write_all(self) -> None:
        await self.trial.write(self.writer, self.answered)
        await self.writer.flush(end_of_input=True)
        self.trial.destination.script([], then=Fault.HANGING)
        self.seen = len(self.trial.destination.requests or ())
        self.hangs.set()
        for element in self.trial.elements(self.hanging):
            await self.writer.write(element)
            self.accepted += 1
            if self._goes_on("write"):
                return
        await self.writer.flush(end_of_input=True)
        self._goes_on("flush")

    def _goes_on(self, what: str) -> bool:
        if self.scope.cancel_called:
            self.ran_on = self.ran_on or what
        return self.scope.cancel_called


@check("cancel-in-flight", since="0.1", needs=[Fault.HANGING], limit_s=10.0, group=_GROUP)
async def cancel_in_flight(trial: Trial) -> None:
    """A task that is cancelled while requests hang leaves its writer at once, and what it had accepted is not lost.

    The task is cancelled once within ``flush`` and once within a ``write`` that waits for room. The cancellation must
    not be swallowed; the writer may count nothing as acknowledged that is not stored; and a successor with its state
    must deliver the rest. Look for ``except BaseException``, for a bare ``except``, for awaits in ``finally`` that no
    answer ends, and for a ``submit_request_entries`` that takes its cancellation for an answer.
    """
    for hanging in (2 * trial.batch, _MORE_THAN_FITS):
        async with trial.fresh() as fresh:
            await _judge(await _Run.ended(fresh, hanging))


async def _judge(run: _Run) -> None:
    trial = run.trial
    if run.ran_on is not None:
        trial.fail(
            f"the task was cancelled, and {run.ran_on} returned as if it were not: whoever waits for the task to end "
            "waits in vain. Look for `except BaseException`, or for an __aexit__ that returns something true"
        )
    if run.error is not None:
        trial.fail(f"the task was cancelled and raised {type(run.error).__name__} instead: {run.error}")
    if run.left_s > _AT_ONCE_S:
        trial.fail(
            f"the task was cancelled, and needed {run.left_s:.1f} s to leave its writer: look for a shielded scope and "
            "for a flush on the way out. What is left belongs to the successor"
        )
    if not trial.capabilities.commits:
        await _judge_counts(run)
    if trial.hands_on:
        await _judge_successor(run)


async def _judge_counts(run: _Run) -> None:
    counts = run.writer.statistics()
    if counts is None:
        return
    acknowledged = counts.acknowledged
    stored = len(await run.trial.destination.received())
    if acknowledged > stored:
        run.trial.fail(
            f"the cancelled writer counts {acknowledged} rows as acknowledged, and {stored} are stored: a request "
            "that is cut has no answer. Look for a submit_request_entries that catches its cancellation"
        )


async def _judge_successor(run: _Run) -> None:
    run.trial.destination.script([])
    async with run.trial.writer(states=run.writer.snapshot_state()) as successor:
        pass
    # The write that was cancelled may have accepted its row or not; what came before it was accepted.
    rows = [*run.answered, *run.hanging[: run.accepted + 1]]
    in_hand = [row["id"] for row in run.hanging[run.accepted : run.accepted + 1]]
    (await run.trial.seen(rows, successor)).nothing_lost(but=in_hand).nothing_doubled()


@check("no-task-left", since="0.1", needs=[Fault.HANGING], group=_GROUP)
async def no_task_left(trial: Trial) -> None:
    """After a writer is left, normally, by a failure or by cancellation, none of its tasks and connections is there.

    The tasks of the event loop are compared before and after, and the destination counts its connections if it can.
    It breaks where a task is started outside of a task group, such as one that refreshes credentials, and where the
    context manager that ``connect`` returns does not close the client in ``finally``.
    """
    before = live_tasks()
    (await trial.deliver(trial.rows(3 * trial.batch))).nothing_lost()
    await _ended(trial, before, "left")
    if Fault.FATAL in trial.destination.supported:
        await trial.deliver(trial.rows(3 * trial.batch), [Fault.OK, Fault.FATAL])
        await _ended(trial, before, "left by a failure")
    run = await _Run.ended(trial, 3 * trial.batch)
    await _ended(trial, before, "left by cancellation")
    if run.error is not None:
        trial.fail(f"the task was cancelled and raised {type(run.error).__name__} instead: {run.error}")


@check("connections-given-back", since="0.1", one_of=[Fault.THROTTLED, Fault.REFUSED], group=_GROUP)
async def connections_given_back(trial: Trial) -> None:
    """A request that the service refuses gives its connection back, for the next one to use or to be closed.

    One request is refused twelve times and then stored; no more than half as many connections may be open then. Where
    requests go to several servers, it is so many times for each. Where each refusal costs a connection the client has
    none left one day, or the machine no ports. It breaks where the answer to a refused request is not read to its end
    or not closed: use the client's response as a context manager.
    Does not apply where the destination cannot count connections.
    """
    fault = Fault.THROTTLED if Fault.THROTTLED in trial.destination.supported else Fault.REFUSED
    rows = trial.rows(trial.batch)
    refusals = _REFUSALS * (trial.servers or 1)
    trial.destination.script([fault] * refusals)
    async with trial.writer() as writer:
        await trial.write(writer, rows)
        await writer.flush(end_of_input=True)
        count = trial.destination.open_connections
    if count is None:
        raise NotApplicableError("the destination does not count connections")
    if count > refusals // 2:
        trial.fail(
            f"a request was refused {refusals} times, and {count} connections are open: look for an "
            "answer that is not read or not closed where its status is that of an error"
        )
    (await trial.seen(rows, writer)).nothing_lost()


async def _ended(trial: Trial, before: set[Any], how: str) -> None:
    """See that tasks and connections end; a peer may need a moment to see that a connection is closed."""
    await until(lambda: not (live_tasks() - before or trial.destination.open_connections), _END_S)
    if count := trial.destination.open_connections:
        trial.fail(
            f"the writer was {how}, and {count} of its connections are still open: look for a connect() that does not "
            "close its client when the context manager is left, in `finally`"
        )
    if left := live_tasks() - before:
        trial.fail(
            f"the writer was {how}, and {len(left)} tasks of its making run on: {shown_names(left)}. Start tasks in a "
            "task group that connect() leaves"
        )


def shown_names(tasks: set[Any]) -> str:
    """The names of some tasks."""
    return ", ".join(sorted(map(task_name, tasks))[:8])
