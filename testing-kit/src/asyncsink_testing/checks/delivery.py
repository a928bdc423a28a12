"""Everything arrives, as it was written, when it must."""

from __future__ import annotations

from random import Random
from typing import Any

import anyio

from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.delivery import shown
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault, Step

LOAD = {"maxInFlightRequests": "16", "maxBufferedRequests": "200"}
"""Options for many requests at once."""

_NO_FLOAT = 2**53 + 1
_NOT_VISIBLE = {"commits": "a row is not visible before it is committed, which no timer does"}


@check("delivers-all", since="0.1")
async def delivers_all(trial: Trial) -> None:
    """What is written arrives once, the last incomplete batch with it.

    More rows are written than fit into some requests, several of them with the same key, and the writer is left. A row
    that is missing at the end points to the flush on leaving; one that is missing in between, to a request in which
    an entry took the place of another.
    """
    delivery = await trial.deliver(trial.rows(5 * trial.batch + 1, keys=3))
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("delivers-under-load", since="0.1")
async def delivers_under_load(trial: Trial) -> None:
    """Some hundred rows arrive once while many requests are under way and are answered out of turn.

    Answers take random times, where the destination can be slow, so that requests overtake each other. Rows that are
    lost or doubled here and not with few requests point to something that requests share and should not: an attribute
    of the sink, a buffer that is used again, a result that is matched to the wrong request.
    """
    random = Random(1)
    steps = [Step(Fault.OK, random.choice((0.0, 0.001, 0.005, 0.02))) for _ in range(400)]
    extra = {name: value for name, value in LOAD.items() if name in trial.subject.tuning}
    slow = Fault.SLOW in trial.destination.supported
    delivery = await trial.deliver(trial.rows(300), steps if slow else (), extra=extra)
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("payload-intact", since="0.1")
async def payload_intact(trial: Trial) -> None:
    """Values arrive as they were written, whatever characters they hold.

    Written are the empty string, blanks, quotes, line breaks, control characters, characters of several scripts, an
    emoji and a long text, a key in other scripts, and a number that is larger than a float can tell from its
    neighbours. What changes them is the converter, or the encoding of entries into a request: an encoding that lacks
    characters, quoting by hand, or lines that are split where a value holds a line break.
    """
    texts = ["", " ", '"quoted" \\ and /', "line\nbreak\ttab\r", "ümläut ✓ 漢字 🦜", "\u2028\x00\x7f", "x" * 5_000]
    rows = [trial.rows(1, first=number, text=text)[0] for number, text in enumerate(texts)]
    rows += [{**trial.rows(1, first=100)[0], "key": "schlüssel-鍵"}, *trial.rows(1, first=_NO_FLOAT)]
    (await trial.deliver(rows)).succeeded().nothing_lost()


@check("equal-rows", since="0.1")
async def equal_rows(trial: Trial) -> None:
    """Rows that are equal in all that they hold arrive as often as they were written.

    The same row is written several times within a request, and again in a later one. A stream may well hold what looks
    the same: two sales of the same good in the same minute. Usually broken by a set or a dictionary of entries, and by
    an id that is a hash of what a row holds. Does not apply where the destination drops what it has stored before.
    """
    if trial.capabilities.idempotent:
        raise NotApplicableError("the destination drops what it has stored before")
    (same,), others = trial.rows(1), trial.rows(2 * trial.batch, first=1)
    rows = [same, same, *others, same]
    delivery = (await trial.deliver(rows)).succeeded().nothing_lost()
    count, due = delivery.ids.count(same["id"]), rows.count(same)
    if count != due:
        trial.fail(
            f"a row was written {due} times, and stands in the destination {count} times: look for a set or a "
            "dictionary of entries, and for ids that are made of what a row holds"
        )


@check("flush-waits", since="0.1", needs=[Fault.SLOW])
async def flush_waits(trial: Trial) -> None:
    """``flush(end_of_input=True)`` returns when all that was written stands in the destination, however slow it is.

    The destination is looked at right after the flush, before the writer is left. A flush that returns too early
    acknowledges a checkpoint whose rows are still on their way, and a crash then loses them: it must wait for what is
    in flight and for what is buffered.
    """
    rows = trial.rows(2 * trial.batch + 1)
    trial.destination.script([], then=Fault.SLOW)
    async with trial.writer() as writer:
        await trial.write(writer, rows)
        await writer.flush(end_of_input=True)
        (await trial.seen(rows, writer)).nothing_lost()


@check("nothing-written", since="0.1")
async def nothing_written(trial: Trial) -> None:
    """A writer that is given nothing sends nothing.

    A writer is opened, flushed in both ways and left without a row, as the tasks of empty partitions are. No request
    may arrive and nothing may be stored. What breaks it is a flush that sends whatever the buffer holds, or a connector
    that writes a header or a footer of its own.
    """
    async with trial.writer() as writer:
        await writer.flush()
        await writer.flush(end_of_input=True)
    delivery = await trial.seen([], writer)
    if delivery.requests:
        trial.fail(
            f"no row was written, and {len(delivery.requests)} requests arrived, the first of them "
            f"{delivery.requests[0]}: look at what entering, flushing and leaving the writer send"
        )
    delivery.nothing_lost()


@check("age-timer", since="0.1", not_with=_NOT_VISIBLE)
async def age_timer(trial: Trial) -> None:
    """A row that fills no batch arrives by itself when ``maxTimeInBuffer`` is over, and so does the next one.

    One row is written, and then nothing is called; it must arrive within seconds. Then the same again: a timer that is
    not armed a second time leaves rows lying until the stream ends.
    """
    rows = trial.rows(2)
    async with trial.writer() as writer:
        for number, element in enumerate(trial.elements(rows)):
            await writer.write(element)
            if not await trial.entries_arrive(number + 1):
                trial.fail(
                    f"row {number}, alone in the buffer, had not arrived 5 s after it was written, although "
                    f"maxTimeInBuffer is {trial.options().get('maxTimeInBuffer', 'at its default')}: look for a timer "
                    "that is never armed, or not again after it has gone off"
                )
    (await trial.seen(rows, writer)).nothing_lost().nothing_doubled()


@check("statistics-add-up", since="0.1")
async def statistics_add_up(trial: Trial) -> None:
    """A writer that tells how many rows it accepted and how many were stored tells what the destination shows.

    Rows are written while entries fail, where the service answers for single ones, and flushed; then more while it
    takes nothing. ``accepted``, ``acknowledged`` and ``unacknowledged`` of ``statistics()`` must agree with what stands
    there each time. Usually broken: what is counted when it is sent, or twice when it is sent twice.
    """
    if trial.writer().statistics() is None:
        raise NotApplicableError("the writer tells no statistics()")
    supported = trial.destination.supported
    steps = [Step.partly(Fault.PARTLY_FAILED, 0, 2)] * 3 if Fault.PARTLY_FAILED in supported else []
    first, more = trial.rows(3 * trial.batch), trial.rows(trial.batch, first=3 * trial.batch)
    trial.destination.script(steps)
    async with trial.writer() as writer:
        await trial.write(writer, first)
        await writer.flush(end_of_input=True)
        (await trial.seen(first, writer)).nothing_lost()
        await _statistics_agree(trial, writer, len(first), 0)
        if Fault.THROTTLED in supported:
            trial.destination.script([], then=Fault.THROTTLED)
            await trial.write(writer, more)
            await _statistics_agree(trial, writer, len(first), len(more))
            trial.destination.script([])
            await writer.flush(end_of_input=True)
            await _statistics_agree(trial, writer, len(first) + len(more), 0)


async def _statistics_agree(trial: Trial, writer: Any, acknowledged: int, unacknowledged: int) -> None:
    """Fail if the writer's numbers do not come to be these; what it publishes may be a moment behind."""
    expected = (acknowledged + unacknowledged, acknowledged, unacknowledged)
    told: tuple[int, int, int] | None = None
    with anyio.move_on_after(2):
        while told != expected:
            now = writer.statistics()
            told = (now.accepted, now.acknowledged, now.unacknowledged)
            await anyio.sleep(0.005)
    if told != expected:
        stored = sorted({trial.id_of(each.payload) for each in await trial.destination.received()})
        trial.fail(
            f"statistics() tells (accepted, acknowledged, unacknowledged) = {told}, and {expected} is right: "
            f"the destination holds {len(stored)} rows, {shown(stored)}. Count an entry as acknowledged when an answer "
            "says that it is stored, once"
        )
