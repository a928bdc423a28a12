"""Everything arrives, as it was written, when it must."""

from __future__ import annotations

from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault


@check("delivers-all", since="0.1")
async def delivers_all(trial: Trial) -> None:
    """What is written arrives once, the last incomplete batch with it."""
    delivery = await trial.deliver(trial.rows(5 * trial.batch + 1))
    delivery.succeeded().nothing_lost().nothing_doubled()


@check("payload-intact", since="0.1")
async def payload_intact(trial: Trial) -> None:
    """Values arrive as they were written, whatever characters they hold."""
    texts = ["", " ", '"quoted" \\ and /', "line\nbreak\ttab\r", "ümläut ✓ 漢字 🦜", "\u2028\x00\x7f", "x" * 5_000]
    rows = [trial.rows(1, first=number, text=text)[0] for number, text in enumerate(texts)]
    (await trial.deliver(rows)).succeeded().nothing_lost().intact()


@check("flush-waits", since="0.1", needs=[Fault.SLOW])
async def flush_waits(trial: Trial) -> None:
    """``flush(end_of_input=True)`` returns when all that was written stands in the destination, however slow it is."""
    rows = trial.rows(2 * trial.batch + 1)
    trial.destination.script([], then=Fault.SLOW)
    async with trial.writer() as writer:
        for element in trial.elements(rows):
            await writer.write(element)
        await writer.flush(end_of_input=True)
        (await trial.seen(rows, writer)).nothing_lost()
