"""What becomes of single entries that fail, and what a request is that is sent again; of the group ``faults``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from asyncsink.errors import AsyncSinkError, DeliveryError
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.delivery import shown
from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.faults import OUTCOME_UNKNOWN, Fault, Step

# ---- answers that concern single entries ---------------------------------------------------------------------


@check("partial-failure", group="faults", since="0.1", needs=[Fault.PARTLY_FAILED], asks=["partial_failure"])
async def partial_failure(trial: Trial) -> None:
    """Of a request some of whose entries failed, those are sent again and no others, whichever they were.

    The first entry fails, the last, both, one in between, and all; some rows of a request have the same key. A row that
    is lost was taken for stored, and one that stands there twice for failed: look at the indices of
    ``RequestResult.failed``, which count from 0 and within this request, in the order in which its entries came.
    """
    await _meets_patterns(trial, Fault.PARTLY_FAILED)


@check("partial-throttled", group="faults", since="0.1", needs=[Fault.PARTLY_THROTTLED], asks=["partial_failure"])
async def partial_throttled(trial: Trial) -> None:
    """Of a request some of whose entries were throttled, those are sent again and no others, whichever they were.

    Services answer so where a partition or a shard is hot. A row that is lost points to an answer in which only the
    codes of failures were looked for, and not those of throttling. Then one entry is throttled twelve times in a row,
    which may use up no number of attempts.
    """
    await _meets_patterns(trial, Fault.PARTLY_THROTTLED)
    async with trial.fresh() as again:
        steps = [Step.partly(Fault.PARTLY_THROTTLED, 0)] * 12
        delivery = await again.deliver(again.rows(again.batch), steps)
        delivery.succeeded().nothing_lost().nothing_doubled()


async def _meets_patterns(trial: Trial, fault: Fault) -> None:
    last = trial.batch - 1
    patterns = [{0}, {last}, {0, last}, {min(1, last)}, set(range(last + 1))]
    steps = [Step.partly(fault, *pattern) for pattern in patterns]
    delivery = await trial.deliver(trial.rows(6 * trial.batch, keys=3), steps)
    delivery.succeeded().nothing_lost().nothing_doubled()


# ---- entries that can never be stored ------------------------------------------------------------------------


@check("poison-fails", group="faults", since="0.1", one_of=[Fault.POISONED, Fault.REJECTED], asks=["rejects_entries"])
async def poison_fails(trial: Trial) -> None:
    """A row that the service refuses for what it holds makes the writer fail, unless the user asks for something else.

    Without an option the writer must end with a DeliveryError and the row must not be stored; so it is where every row
    of a request is refused. A successor that starts from its state, if it keeps one, delivers all rows once the service
    takes them. Usually broken by a refusal that is logged and forgotten.
    """
    for poisoned in ({trial.batch + 1}, set(range(trial.batch, 2 * trial.batch))):
        async with trial.fresh() as fresh:
            await _fails_on(fresh, poisoned)


async def _fails_on(trial: Trial, poisoned: set[int]) -> None:
    rows = trial.rows(3 * trial.batch)
    trial.destination.poison(lambda payload: trial.id_of(payload) in poisoned)
    writer, written, error, states = await _until_failed(trial, rows)
    if not isinstance(error, DeliveryError):
        trial.fail(
            f"the service refused row {shown(poisoned)} for what it holds, and the writer ended with {error!r} in "
            "place of a DeliveryError: look at the kind of the refusal's code, which is to be rejected, and at "
            "the default of onRejected"
        )
    _not_stored(trial, poisoned, (await trial.seen(rows, writer)).ids)
    if trial.hands_on:
        trial.destination.poison(lambda payload: False)
        async with trial.writer(states=states) as successor:
            await successor.flush(end_of_input=True)
        (await trial.seen(rows[:written], successor)).nothing_lost()


async def _until_failed(trial: Trial, rows: list[Row]) -> tuple[Any, int, AsyncSinkError | None, list[Any]]:
    writer, written, states, error = trial.writer(), 0, [], None
    try:
        async with writer:
            try:
                for element in trial.elements(rows):
                    await writer.write(element)
                    written += 1
                await writer.flush(end_of_input=True)
            finally:
                states = writer.snapshot_state()
    except AsyncSinkError as raised:
        error = raised
    return writer, written, error, states


@check("poison-dropped", group="faults", since="0.1", one_of=[Fault.POISONED, Fault.REJECTED], asks=["rejects_entries"])
async def poison_dropped(trial: Trial) -> None:
    """With ``onRejected=drop`` the rows that the service refuses are counted and left out, and all others arrive.

    Two rows in different requests are refused. Others that are missing were in the same request and were taken for
    refused with them; a row that the service refused by its index may not be sent again, since it will be refused
    again.
    """
    rows, poisoned = trial.rows(5 * trial.batch), {1, 2 * trial.batch}
    trial.destination.poison(lambda payload: trial.id_of(payload) in poisoned)
    delivery = await trial.deliver(rows, extra={"onRejected": "drop", "maxRejected": "1"})
    delivery.succeeded().nothing_lost(but=poisoned).nothing_doubled()
    _not_stored(trial, poisoned, delivery.ids)
    if Fault.POISONED in trial.destination.supported:
        _refused_once(trial, poisoned, delivery.requests or ())
    counts = delivery.writer and delivery.writer.statistics()
    if counts is not None and counts.dropped != len(poisoned):
        trial.fail(
            f"{len(poisoned)} rows were refused and dropped, and statistics().dropped is "
            f"{counts.dropped}: nobody would learn of the others"
        )


def _not_stored(trial: Trial, poisoned: set[int], ids: list[int]) -> None:
    if poisoned & set(ids):
        trial.fail(f"the destination holds {shown(sorted(poisoned & set(ids)))}, which it refused: it was sent changed")


def _refused_once(trial: Trial, poisoned: set[int], requests: Sequence[SeenRequest]) -> None:
    for number in sorted(poisoned):
        holding = [each for each in requests if number in map(trial.id_of, each.payloads)]
        if len(holding) > 1:
            trial.fail(
                f"row {number} was refused in {holding[0]} and sent again in {holding[1]}: name the refusal's code as "
                "rejected in the ErrorTable, and not as retryable"
            )


# ---- what a repetition is ------------------------------------------------------------------------------------


@check(
    "repeats-keep-their-id",
    group="faults",
    since="0.1",
    one_of=[Fault.ANSWER_LOST, Fault.DISCONNECTED, Fault.REFUSED],
    sees_requests=True,
)
async def repeats_keep_their_id(trial: Trial) -> None:
    """A request that is sent again after an unknown outcome carries the same id and the same entries; no other does.

    By its id a service drops what it has stored before. A new id for a repetition doubles rows there, and an id that
    another request had before loses them: take ``RequestEntries.id`` as it is. Single entries fail too, where the
    service answers for them, and what is sent then is another request. So are those of another writer, whose rows may
    be equal to these. Does not apply where requests carry none.
    """
    kinds = [Fault.ANSWER_LOST, Fault.DISCONNECTED, Fault.REFUSED]
    fault = next(kind for kind in kinds if kind in trial.destination.supported)
    by_index = Fault.PARTLY_FAILED in trial.destination.supported
    count = 4 * trial.batch
    # Where the destination drops equal rows, requests with the same rows may well have the same id.
    rows, more = trial.rows(count), trial.rows(count, first=count if trial.capabilities.idempotent else 0)
    (await trial.deliver(rows, [Fault.OK, fault, Fault.OK, fault, fault])).succeeded()
    (await trial.deliver(more, [Step.partly(Fault.PARTLY_FAILED, 0)] * 2 if by_index else [])).succeeded()
    delivery = (await trial.seen([*rows, *more])).nothing_lost()
    sendings: dict[str, list[SeenRequest]] = defaultdict(list)
    for each in delivery.requests or ():
        if each.id is None:
            raise NotApplicableError("requests carry no id that the destination can see")
        sendings[each.id].append(each)
    for name, sent in sendings.items():
        _one_request(trial, name, sent)


def _one_request(trial: Trial, name: str, sent: list[SeenRequest]) -> None:
    """Fail unless these are one request that was sent until it was answered."""
    for before, after in pairwise(sent):
        if before.payloads != after.payloads or before.fault not in OUTCOME_UNKNOWN:
            trial.fail(
                f"{before} and {after} carry the same id {name!r}, and the second is no repetition of the first: a "
                "service that drops repetitions loses its rows. Send RequestEntries.id, which no other request has"
            )
    if sent[-1].fault in OUTCOME_UNKNOWN:
        trial.fail(
            f"{sent[-1]} ended so that nobody could know whether it was stored, and nothing was sent again under its "
            f"id {name!r}: a service that drops repetitions cannot see that they are some. Send RequestEntries.id"
        )
