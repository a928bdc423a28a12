"""What a writer holds and has done, read off its engine; changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from asyncsink.state import BufferedRequestState
from asyncsink.writer.buffer import Run
from asyncsink.writer.engine import Engine
from asyncsink.writer.settlement import Settlement
from asyncsink.writer.statistics import WriterStatistics


def held_runs(engine: Engine) -> Iterator[Run]:
    """Every run that is not acknowledged: buffered, sealed, parked, in flight; in no particular order."""
    for lane in engine.lanes.values():
        yield from lane.runs()
        for sealed in lane.sealed:
            yield from sealed.pieces
    for request in engine.in_flight.values():
        yield from request.pieces
    for _, _, _, run in engine.parked:
        yield run
    yield from engine.condemned


def held_count(engine: Engine) -> int:
    """How many entries :func:`held_runs` would find, without looking at each."""
    sealed = sum(len(request) for lane in engine.lanes.values() for request in lane.sealed)
    return engine.waiting_count + sealed + sum(map(len, engine.in_flight.values())) + len(engine.condemned)


def first_undecided(engine: Engine) -> float:
    """The sequence number of the oldest entry that is neither acknowledged nor given up; the next one if all are."""
    firsts = [lane.oldest_sequence for lane in engine.lanes.values() if lane.count]
    firsts += [request.pieces[0].first_sequence for lane in engine.lanes.values() for request in lane.sealed]
    firsts += [request.pieces[0].first_sequence for request in engine.in_flight.values()]
    firsts += [run.first_sequence for _, _, _, run in engine.parked]
    return min(firsts, default=engine.next_sequence)


def snapshot(engine: Engine) -> BufferedRequestState[Any]:
    """Every unacknowledged entry with its size, in the order of acceptance."""
    held = sorted((each for run in held_runs(engine) for each in run.entries()), key=lambda each: each[0])
    return BufferedRequestState(tuple(entry for _, entry, _ in held), tuple(size for _, _, size in held))


def statistics(
    engine: Engine, settlement: Settlement, restoring: BufferedRequestState[Any] | None = None
) -> WriterStatistics:
    """The counts of this moment.

    :param restoring: what the engine is to take over, and does not hold yet
    """
    restored = 0 if restoring is None else len(restoring.entries)
    size = 0 if restoring is None else restoring.size_in_bytes
    in_flight = sum(map(len, engine.in_flight.values()))
    budgets = [scope.limiter.budget() for scope in engine.lanes.scopes.values()]
    counted = engine.accounting
    return WriterStatistics(
        accepted=counted.accepted,
        restored=counted.restored + restored,
        acknowledged=counted.acknowledged,
        dead_lettered=counted.dead_lettered,
        dropped=counted.dropped,
        rejected=counted.rejected + len(engine.condemned),
        buffered_entries=counted.unacknowledged + restored - in_flight,
        in_flight_entries=in_flight,
        in_flight_requests=len(engine.in_flight),
        size_in_bytes=engine.size_in_bytes + size,
        requests=engine.starts,
        retried_entries=settlement.retried,
        throttled_entries=settlement.throttled,
        failed_requests=settlement.failed_requests,
        max_batch_size=min((each for each in budgets if each is not None), default=None),
        last_send_time_s=settlement.last_send_time_s,
    )
