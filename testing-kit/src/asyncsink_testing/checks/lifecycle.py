"""Closing, failing, and beginning again."""

from __future__ import annotations

import anyio

from asyncsink.context import WriterInitContext
from asyncsink.errors import AsyncSinkError, DeliveryError
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.delivery import shown
from asyncsink_testing.conformance.known_options import secrets_given
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.conformance.watching import rows_left_on_purpose, told
from asyncsink_testing.faults import Fault

_LATE_S = 0.05
"""Seconds that a request may need which is sent although it must not be."""
_GIVEN_UP = {"commits": "what a failed writer had accepted belongs to an attempt that is given up"}


@check("close-twice", since="0.1")
async def close_twice(trial: Trial) -> None:
    """``aclose`` may be called again and again: it raises nothing and sends nothing.

    A writer that holds rows of an incomplete batch is closed twice, left, and closed once more. Rows that were written
    after the last flush must not arrive. It breaks where closing flushes, which would keep a failed task from ending,
    and where it gives up what it has given up before.
    """
    sent, kept = trial.rows(2 * trial.batch), trial.rows(trial.batch - 1, first=1_000)
    writer, doing = trial.writer({"maxTimeInBuffer": "30s"}), "entering the writer"
    try:
        with rows_left_on_purpose():
            async with writer:
                doing = "writing and flushing"
                await trial.write(writer, sent)
                await writer.flush(end_of_input=True)
                await trial.write(writer, kept)
                doing = "the first aclose()"
                await writer.aclose()
                doing = "the second aclose()"
                await writer.aclose()
                doing = "leaving the writer, which was closed before,"
            doing = "aclose() after leaving the writer"
            await writer.aclose()
    except Exception as error:
        trial.fail(f"{doing} raised {type(error).__name__}: {error}. Look at what closing does to what is closed")
    await anyio.sleep(_LATE_S)
    delivery = await trial.seen(sent, writer)
    late = sorted(set(delivery.ids) & {row["id"] for row in kept})
    if late:
        trial.fail(
            f"aclose() sent rows that were written after the last flush: {shown(late)}. Closing gives up what is left, "
            "as a task that failed must not send any more; only flush and leaving the writer normally send it"
        )
    delivery.nothing_lost().nothing_doubled()


@check("reopen-after-failure", since="0.1", needs=[Fault.FATAL], asks=["keeps_state"], not_with=_GIVEN_UP)
async def reopen_after_failure(trial: Trial) -> None:
    """After a writer has failed, another one of the same sink that starts from its state delivers everything.

    The destination gives an answer that no retry can mend, until the writer fails; then it is well again. What the
    failed writer had accepted must be stored or in its ``snapshot_state``; where states keep no rows, it is handed over
    again. It breaks where the sink remembers the failure, keeps the broken client, or gives rows up with the error.
    """
    # One request at a time: the answer to one that was stored must not come after the one by which the writer fails.
    sink, rows = trial.sink({"maxInFlightRequests": "1"}), trial.rows(4 * trial.batch)
    trial.destination.script([Fault.OK, Fault.FATAL], then=Fault.FATAL)
    failed, accepted = sink.create_writer(WriterInitContext()), 0
    try:
        async with failed:
            for element in trial.elements(rows):
                await failed.write(element)
                accepted += 1
    except AsyncSinkError:
        pass  # whether it must fail is asked by another check
    trial.destination.script([])
    writer, error = sink.create_writer(WriterInitContext(attempt=1), failed.snapshot_state()), None
    try:
        async with writer:
            await trial.hand_over_again(writer, rows[:accepted])
            await trial.write(writer, rows[accepted:])
    except Exception as raised:
        error = raised
    if error is not None:
        trial.fail(
            f"a writer made after another one of the same sink had failed raised {type(error).__name__}: {error}. Look "
            "for a client, or a note of the failure, that is kept on the sink"
        )
    (await trial.seen(rows, writer)).nothing_lost().nothing_doubled()


@check("destination-down", since="0.1")
async def destination_down(trial: Trial) -> None:
    """Where nothing answers at the destination's address, the writer fails with a ``DeliveryError`` within its time.

    The sink is given the endpoint of a destination that is closed, and a short ``retry.timeout``. It breaks where the
    client's own error leaves ``connect`` (raise ``DestinationUnavailableError`` from it, or connect with the first
    request), where the error of a refused connection is unknown to the ErrorTable, and where a client retries for ever.
    The error must hold no secret.
    """
    async with trial.fresh() as down:
        pass
    writer, error = down.writer({"retry.timeout": "300ms", "requestTimeout": "100ms"}), None
    try:
        async with writer:
            await down.write(writer, down.rows(2 * down.batch))
    except Exception as raised:
        error = raised
    if error is None:
        trial.fail("nothing listens at the endpoint, and the writer was left without an error: its rows are lost")
    if not isinstance(error, DeliveryError):
        trial.fail(
            f"nothing listens at the endpoint, and the writer raised {type(error).__name__}: {error}. It should be a "
            "DeliveryError: raise DestinationUnavailableError in connect, or connect with the first request and name "
            "the client's error as retryable in the ErrorTable"
        )
    if any(secret in told(error) for secret in secrets_given(down)):
        trial.fail(f"the {type(error).__name__} of a destination that is down, or one of its causes, names a secret")
