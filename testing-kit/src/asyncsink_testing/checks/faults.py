"""What a destination does to requests: nothing is lost by it, and nothing doubled that need not be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from asyncsink.errors import DeliveryError
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.delivery import Delivery
from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import RETRY_AFTER_S, Fault, Step

_COARSE_S = 0.02
"""Seconds by which the clock of a destination may be coarse."""
_LATE_S = 6.0
"""Seconds: more than the five after which some client libraries give up by themselves."""

# ---- the connection ------------------------------------------------------------------------------------------


@check("answer-lost", since="0.1", needs=[Fault.ANSWER_LOST])
async def answer_lost(trial: Trial) -> None:
    """A request that is stored and whose answer never comes is sent again; only its rows may stand there twice.

    Answers are lost here and there, and then six in a row of the same request. Rows that stand there more often than
    answers were lost were sent again without need, as by a client library that repeats requests by itself besides
    the writer: switch its retries off.
    """
    steps = [Fault.OK, Fault.ANSWER_LOST, Fault.OK, Fault.ANSWER_LOST, Fault.ANSWER_LOST]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), steps)
    delivery.succeeded().nothing_lost().nothing_doubled()
    async with trial.fresh() as again:
        delivery = await again.deliver(again.rows(again.batch), [Fault.ANSWER_LOST] * 6)
        delivery.succeeded().nothing_lost().nothing_doubled()


@check("answer-cut", since="0.1", needs=[Fault.ANSWER_CUT])
async def answer_cut(trial: Trial) -> None:
    """A request whose answer breaks off in the middle is sent again, as one without an answer.

    Half an answer is no answer: what it says cannot be trusted, and what it does not say is unknown. Usually broken by
    a parser's error that ``submit_request_entries`` lets through, which counts as a bug of the connector and ends the
    writer.
    """
    steps = [Fault.OK, Fault.ANSWER_CUT, Fault.ANSWER_CUT, Fault.OK, Fault.ANSWER_CUT]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), steps)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("disconnected", since="0.1", needs=[Fault.DISCONNECTED])
async def disconnected(trial: Trial) -> None:
    """A request whose connection breaks before the destination has stored it is sent again, however often that happens.

    The connection breaks six times in a row, and later once more. Rows that are missing point to an exception of the
    client library that is caught and taken for success; a writer that fails, to one that the ErrorTable does not know.
    """
    steps = [Fault.DISCONNECTED] * 6 + [Fault.OK, Fault.DISCONNECTED]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), steps)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("hanging", since="0.1", needs=[Fault.HANGING])
async def hanging(trial: Trial) -> None:
    """A request that is never answered is given up after ``requestTimeout`` and sent again, while others go on.

    Two requests are swallowed. Rows that are missing point to a deadline of the connector's own that is taken for an
    answer when it is over; a check that hangs, to a wait that cannot be cancelled.
    """
    steps = [Fault.HANGING, Fault.OK, Fault.HANGING]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), steps, extra=trial.hanging_options)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("hanging-stored", since="0.1", needs=[Fault.HANGING_STORED])
async def hanging_stored(trial: Trial) -> None:
    """A request that is stored and never answered is sent again after ``requestTimeout``, once for each time it hung.

    Its rows may stand there twice, and not three times: a connector with a deadline of its own that repeats the request
    by itself doubles what the writer sends again.
    """
    steps = [Fault.HANGING_STORED, Fault.OK, Fault.HANGING_STORED]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), steps, extra=trial.hanging_options)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("slow-answer", since="0.1", needs=[Fault.SLOW])
async def slow_answer(trial: Trial) -> None:
    """An answer that takes six seconds is waited for where requestTimeout allows it.

    One request is stored and answered so late. Nothing may be lost or doubled, and the writer may not fail. Usually
    broken by a deadline of the client library's own, five seconds in some: its exception is unknown to the ErrorTable,
    or the request is sent again though it was stored. Switch it off, the writer has one.
    """
    extra = {"requestTimeout": "20s"} if "requestTimeout" in trial.subject.tuning else {}
    delivery = await trial.deliver(trial.rows(trial.batch), then=Step(Fault.OK, latency_s=_LATE_S), extra=extra)
    delivery.succeeded().nothing_lost().nothing_doubled()


# ---- answers that concern the whole request ------------------------------------------------------------------


@check("throttled", since="0.1", needs=[Fault.THROTTLED])
async def throttled(trial: Trial) -> None:
    """Requests that are throttled are sent again, as long as it takes, and nothing is doubled by it.

    Fifteen throttles come in a row. A throttle is no failure of the rows, so it may use up no number of attempts: a
    writer that fails points to a limit of retries in the connector or its client library.
    """
    delivery = await trial.deliver(trial.rows(3 * trial.batch), [Fault.THROTTLED] * 15)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("unavailable", since="0.1", needs=[Fault.REFUSED])
async def unavailable(trial: Trial) -> None:
    """Requests that the service answers with "unavailable" are sent again, as often as it says so.

    The service refuses eight times in a row one and the same request. Rows that are missing point to a status that is
    never looked at; a writer that fails, to one that the ErrorTable does not name as retryable.
    """
    delivery = await trial.deliver(trial.rows(trial.batch), [Fault.REFUSED] * 8)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("retry-after", since="0.1", needs=[Fault.RETRY_AFTER], asks=["retry_after"], sees_requests=True)
async def retry_after(trial: Trial) -> None:
    """A service that says how long to wait is left alone for so long.

    The only request is throttled and asked to come again after a second. It must not arrive sooner. Usually broken by
    an answer whose header is not read: hand its seconds to ``RequestError(retry_after_s=…)``.
    """
    delivery = await trial.deliver(trial.rows(trial.batch), [Fault.RETRY_AFTER])
    delivery.succeeded().nothing_lost().nothing_doubled()
    requests = delivery.requests or ()
    for asked, following in pairwise(requests):
        waited_s = following.started_s - asked.started_s
        if asked.number == requests[0].number and waited_s < RETRY_AFTER_S - _COARSE_S:
            trial.fail(
                f"{asked} was answered with a wait of {RETRY_AFTER_S:g} s, and {following} arrived {waited_s:.3f} s "
                "after it: read the time from the answer and hand it to RequestError(retry_after_s=…)"
            )


@check("fatal-stops", since="0.1", needs=[Fault.FATAL])
async def fatal_stops(trial: Trial) -> None:
    """After an answer that no retry can mend the writer fails at once, and says what to do.

    One request meets it: the first, a later one, and one that was cut off before. The writer must fail with a
    DeliveryError and not send that request again; the message must have a second sentence, the remedy:
    ``ErrorTable.of(fatal={code: "What to do."})``. A task that goes on loses rows in silence, and one that tries again
    does so until somebody looks.
    """
    cut = [Fault.DISCONNECTED] if Fault.DISCONNECTED in trial.destination.supported else []
    for batches, steps in ((3, [Fault.FATAL]), (3, [Fault.OK, Fault.FATAL, Fault.FATAL]), (1, [*cut, Fault.FATAL])):
        async with trial.fresh() as fresh:
            _failed_for_good(fresh, await fresh.deliver(fresh.rows(batches * fresh.batch), steps))


def _failed_for_good(trial: Trial, delivery: Delivery) -> None:
    error = delivery.error
    if error is None:
        trial.fail(
            "a request met an answer that no retry can mend, and the writer did not fail: look at what "
            "submit_request_entries makes of that answer, and whether the ErrorTable names its code as fatal"
        )
    if not isinstance(error, DeliveryError):
        trial.fail(f"the writer failed with {type(error).__name__}, and a DeliveryError is due: {error}")
    _sent_no_more(trial, delivery.requests or ())
    if not re.search(r"\.\s+\w", str(error)):
        trial.fail(
            f"the writer failed without saying what to do about it: {str(error)!r}; give the code a remedy in the "
            "ErrorTable, a sentence such as 'Allow this program to write to the stream.'"
        )


def _sent_no_more(trial: Trial, requests: Sequence[SeenRequest]) -> None:
    for number, met in enumerate(requests):
        again = [each for each in requests[number + 1 :] if each.payloads == met.payloads]
        if met.fault is Fault.FATAL and again:
            trial.fail(
                f"{met} met an answer that no retry can mend, and was sent again as {again[0]}: name its code as fatal "
                "in the ErrorTable"
            )


@check("outage", since="0.1", one_of=[Fault.THROTTLED, Fault.REFUSED, Fault.DISCONNECTED])
async def outage(trial: Trial) -> None:
    """A destination that fails in several ways for a while costs time and no rows.

    Two dozen requests in a row are throttled, refused or cut off, as those to a service that is overrun and falls over,
    then all is well. The writer must come through, and all rows with it. Usually broken by a breaker, or by a count of
    failures in the connector, that never recovers.
    """
    overrun = [Fault.THROTTLED] * 10
    fallen = [Fault.REFUSED, Fault.REFUSED, Fault.REFUSED, Fault.DISCONNECTED, Fault.DISCONNECTED] * 3
    steps = [fault for fault in [*overrun, *fallen] if fault in trial.destination.supported]
    delivery = await trial.deliver(trial.rows(4 * trial.batch), [Fault.OK, *steps])
    delivery.succeeded().nothing_lost().nothing_doubled()
