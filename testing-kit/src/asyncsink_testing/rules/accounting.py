"""The sums: statistics, snapshots, and what the rate limit was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from asyncsink_testing.history import (
    Event,
    Gone,
    History,
    LimitCompleted,
    LimitRegistered,
    RequestStarted,
    SnapshotTaken,
)
from asyncsink_testing.ledger import SETTLED, Ledger, Place
from asyncsink_testing.rules.base import Rule, shown


class StatisticsBalanced(Rule):
    """``accepted + restored = acknowledged + dead_lettered + dropped + unacknowledged``, each as it happened."""

    name = "statistics-balanced"
    events: ClassVar[tuple[type[Event], ...]] = (SnapshotTaken,)

    def check(self, event: SnapshotTaken, ledger: Ledger) -> Iterator[str]:
        told, held = event.statistics, len(event.entries)
        if told.unacknowledged != held:
            yield (
                f"writer {ledger.number}: accepted {told.accepted} + restored {told.restored} - acknowledged "
                f"{told.acknowledged} = {told.unacknowledged}, but its snapshot holds {held} entries"
            )
        if told.buffered_entries + told.in_flight_entries != held:
            yield (
                f"writer {ledger.number}: {told.buffered_entries} buffered + {told.in_flight_entries} in flight are "
                f"not the {held} entries of its snapshot"
            )
        if told.size_in_bytes != sum(event.sizes):
            yield (
                f"writer {ledger.number} holds {told.size_in_bytes} bytes by its statistics, {sum(event.sizes)} by its "
                "snapshot"
            )
        acknowledged = ledger.count(Place.ACKNOWLEDGED)
        if told.acknowledged != acknowledged:
            yield (
                f"writer {ledger.number} counts {told.acknowledged} acknowledged entries; the destination has answered "
                f"for {acknowledged}"
            )
        yield from self._given_up("dead-lettered", told.dead_lettered, Place.DEAD_LETTERED, "dead_letter", ledger)
        yield from self._given_up("dropped", told.dropped, Place.DROPPED, "drop", ledger)
        if told.restored != ledger.restored:
            yield f"writer {ledger.number} counts {told.restored} restored entries; it was given {ledger.restored}"

    def _given_up(self, name: str, told: int, place: Place, mode: str, ledger: Ledger) -> Iterator[str]:
        """A call that is under way may have given up elements that its return will tell of."""
        least = ledger.count(place)
        most = least
        if ledger.config.on_rejected == mode:
            most += sum(each.unsendable for each in ledger.at(Place.OFFERED, Place.REFUSED))
        if not least <= told <= most:
            yield f"writer {ledger.number} counts {told} entries as {name}; it has given up {least} to {most} so"


class SnapshotExact(Rule):
    """A snapshot holds what is accepted and not acknowledged, in the order of acceptance, with its sizes."""

    name = "snapshot-exact"
    events: ClassVar[tuple[type[Event], ...]] = (SnapshotTaken,)

    def check(self, event: SnapshotTaken, ledger: Ledger) -> Iterator[str]:
        held = set(event.entries)
        missing = [each.entry for each in ledger.unacknowledged() if each.entry not in held]
        if missing:
            where = ledger.entries[missing[0]]
            yield (
                f"the snapshot of writer {ledger.number} lacks {shown(missing)}; the first is {where.place.value} "
                f"since {where.since_s:.6g}, last in {where.request}"
            )
        unknown = [entry for entry in event.entries if entry not in ledger.entries]
        wrong = [entry for entry in event.entries if entry in ledger.entries and _is_settled(ledger, entry)]
        if unknown or wrong:
            yield f"the snapshot of writer {ledger.number} holds {shown(unknown + wrong)}, not held by the writer"
        if len(held) < len(event.entries):
            twice = [entry for entry, count in Counter(event.entries).items() if count > 1]
            yield f"the snapshot of writer {ledger.number} holds {shown(twice)} more than once"
        orders = [ledger.entries[entry].order for entry in event.entries if entry in ledger.entries]
        if orders != sorted(orders):
            yield f"the snapshot of writer {ledger.number} is not in the order of acceptance: {shown(event.entries)}"
        sizes = [ledger.entries[entry].size for entry in event.entries if entry in ledger.entries]
        if not unknown and sizes != list(event.sizes):
            yield f"the snapshot of writer {ledger.number} has wrong sizes"


def _is_settled(ledger: Ledger, entry: object) -> bool:
    return ledger.entries[entry].place in SETTLED


class LimiterBalanced(Rule):
    """A strategy is told of each request once when it starts, by its actual count, and once when it has ended."""

    name = "limiter-balanced"
    events: ClassVar[tuple[type[Event], ...]] = (LimitRegistered, LimitCompleted, RequestStarted, Gone)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._open: Counter[tuple[int, int, int]] = Counter()
        self._expected: list[tuple[int, int]] = []
        self._told = False

    def check(self, event: Event, ledger: Ledger) -> Iterator[str]:
        match event:
            case LimitRegistered():
                self._told = True
                self._open[event.strategy, event.batch_size, event.size_in_bytes] += 1
                self._expected.append((event.batch_size, event.size_in_bytes))
            case LimitCompleted():
                key = event.strategy, event.batch_size, event.size_in_bytes
                self._open[key] -= 1
                if self._open[key] < 0:
                    yield f"strategy {event.strategy} was told of the end of a request it was never told of: {key[1:]}"
            case RequestStarted(request=request) if self._told:
                actual = len(request.entries), request.size_in_bytes
                if actual in self._expected:
                    self._expected.remove(actual)
                else:
                    yield f"{request} was sent, but no strategy was told of {actual[0]} entries with {actual[1]} bytes"

    def finish(self, ledgers: Sequence[Ledger]) -> Iterator[str]:
        left = {key: count for key, count in self._open.items() if count > 0}
        if left and all(ledger.gone for ledger in ledgers):
            yield f"requests were registered with their strategy and never completed: {left}"
