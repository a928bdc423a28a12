"""One sink, several writers and event loops."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Thread
from typing import Any

import anyio
import anyio.to_thread

from asyncsink.context import WriterInitContext
from asyncsink.errors import AsyncSinkError
from asyncsink.sink import Sink
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.running import loop_of
from asyncsink_testing.conformance.trial import Row, Trial

_LIMIT_S = 10.0
_GROUP = "lifecycle"


@check("two-event-loops", since="0.1", group=_GROUP)
async def two_event_loops(trial: Trial) -> None:
    """One sink makes writers in several event loops, one after another, and each of them delivers.

    That is what Spark does, whose workers run every task in a loop of its own. Rows are sent from one loop, from
    another in a thread, and from the first again. It breaks where a client, a lock or an event is kept on the sink:
    make them in ``connect``, which belongs to one writer.
    """
    sink, rows, size = trial.sink(), trial.rows(6 * trial.batch), 2 * trial.batch
    loops = ("the first event loop", "a second event loop", "the first event loop again")
    for number, name in enumerate(loops):
        part = rows[number * size : (number + 1) * size]
        try:
            if number == 1:
                await _in_another_loop(trial, sink, part)
            else:
                await _send(trial, sink, part)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        else:
            continue
        trial.fail(
            f"a writer of the sink failed in {name} with {failure}. Look for a client, a lock or an event that is made "
            "with the sink, or kept on it, and belongs to the loop that used it first"
        )
    (await trial.seen(rows)).nothing_lost().nothing_doubled()


async def _send(trial: Trial, sink: Sink[Any, Any, Any, Any], rows: Iterable[Row]) -> None:
    with anyio.fail_after(_LIMIT_S):
        async with trial.writer_of(sink) as writer:
            await trial.write(writer, rows)


async def _in_another_loop(trial: Trial, sink: Sink[Any, Any, Any, Any], rows: Iterable[Row]) -> None:
    """Send rows from a loop of the same kind in another thread."""

    def run() -> None:
        anyio.run(_send, trial, sink, rows, **loop_of(trial.subject))

    if not trial.subject.in_process:
        await anyio.to_thread.run_sync(run)
        return
    # This loop has to stand still: its virtual clock would leap over every deadline while it waits for a thread.
    errors: list[BaseException] = []
    thread = Thread(target=_noting(run, errors), name="another event loop")
    thread.start()
    thread.join()
    for error in errors:
        raise error


def _noting(run: Any, errors: list[BaseException]) -> Any:
    def noted() -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    return noted


@check("many-writers", since="0.1", group=_GROUP)
async def many_writers(trial: Trial) -> None:
    """Two writers of one sink that are open at once deliver both, and the one outlives the other.

    Rows go to both in turn; then one is left, and the other goes on. It breaks where what belongs to a writer, such as
    its client, is kept on the sink: the second writer takes its place, and the first to leave closes it for both.
    """
    sink, rows, half = trial.sink(), trial.rows(6 * trial.batch), 2 * trial.batch
    error: AsyncSinkError | None = None
    stays = trial.writer_of(sink)
    try:
        async with stays:
            async with trial.writer_of(sink, WriterInitContext(writer_id=1)) as leaves:
                for one, other in zip(rows[:half], rows[half : 2 * half], strict=True):
                    await trial.write(stays, [one])
                    await trial.write(leaves, [other])
            await trial.write(stays, rows[2 * half :])
    except AsyncSinkError as raised:
        error = raised
    if error is not None:
        trial.fail(
            f"one of two writers of a sink failed with {type(error).__name__}: {error}. Look for what belongs to one "
            "writer and is kept on the sink, such as its client"
        )
    (await trial.seen(rows, stays)).nothing_lost().nothing_doubled()
