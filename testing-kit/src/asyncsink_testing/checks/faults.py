"""What a destination does to requests: nothing is lost by it, and nothing doubled that need not be."""

from __future__ import annotations

from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault, Step


@check("answer-lost", since="0.1", needs=[Fault.ANSWER_LOST])
async def answer_lost(trial: Trial) -> None:
    """A request that is stored and whose answer never comes is sent again; only its rows may stand there twice."""
    steps = [Fault.OK, Fault.ANSWER_LOST, Fault.OK, Fault.ANSWER_LOST, Fault.ANSWER_LOST]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), steps)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("partial-failure", since="0.1", needs=[Fault.PARTLY_FAILED], asks=["partial_failure"])
async def partial_failure(trial: Trial) -> None:
    """Of a request some of whose entries failed, those are sent again and no others, whichever they were."""
    patterns = [{0}, {trial.batch - 1}, {0, trial.batch - 1}, {1} if trial.batch > 1 else {0}, set(range(trial.batch))]
    steps = [Step.partly(Fault.PARTLY_FAILED, *pattern) for pattern in patterns]
    delivery = await trial.deliver(trial.rows(6 * trial.batch), steps)
    delivery.succeeded().nothing_lost().nothing_doubled()
