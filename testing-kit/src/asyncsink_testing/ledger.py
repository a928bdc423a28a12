"""What the oracle knows of each writer while it reads a history: where every entry is, and why."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from asyncsink import FailureKind
from asyncsink_testing.history import (
    Accepted,
    Closing,
    DeadLettered,
    Ending,
    Event,
    Failed,
    FlushCalled,
    FlushReturned,
    Gone,
    Offered,
    Opened,
    RequestEnded,
    RequestStarted,
    SentRequest,
)

if TYPE_CHECKING:
    from asyncsink import AsyncSinkWriterConfig

EPSILON_S = 1e-5
"""What is less far apart happens at the same instant: a clock may creep while nobody waits."""


class Place(Enum):
    """Where an entry is."""

    OFFERED = "offered"
    BUFFERED = "buffered"
    OWN_BACKOFF = "in its own backoff"
    IN_FLIGHT = "in flight"
    SEALED = "in a sealed request"
    HALVED = "in one half of a refused request"
    CONDEMNED = "given up, its dead letter not yet durable"
    DEAD_LETTERED = "dead-lettered"
    DROPPED = "dropped"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"

    # An enum hashes its name by a function in Python; the members of this one are keys for every event.
    __hash__ = object.__hash__


@dataclass(slots=True, eq=False)
class Tracked:
    """One entry of one writer.

    :ivar order: its number in the order of acceptance
    :ivar since_s: when it came to its place
    :ivar certain: a call has said that the writer accepted it; before, only the destination's having seen it tells
    :ivar not_before_s: what an answer asked for, of this entry
    :ivar attempts: answers that called it retryable
    :ivar unsendable: it is too large, or cannot be converted
    """

    entry: Any
    order: int
    place: Place
    since_s: float
    certain: bool = False
    request: SentRequest | None = None
    not_before_s: float = -inf
    route: Hashable | None = None
    key: Hashable | None = None
    size: int = 0
    attempts: int = 0
    unsendable: bool = False


@dataclass(slots=True)
class ScopeView:
    """What the writer has heard of a scope."""

    seen_s: float
    failed_s: float = -inf
    not_before_s: float = -inf
    in_flight: int = 0


@dataclass(slots=True, eq=False)
class Ledger:
    """One writer: its entries, its requests under way, the sealed ones, and what it has been told."""

    number: int
    config: AsyncSinkWriterConfig
    limited: bool
    opened_s: float
    entries: dict[Any, Tracked] = field(default_factory=dict)
    open_requests: dict[int, SentRequest] = field(default_factory=dict)
    late: dict[int, SentRequest] = field(default_factory=dict)
    """Requests that have failed by their deadline while the destination is still at work on them."""
    sealed: dict[str, SentRequest] = field(default_factory=dict)
    halved: dict[str, SentRequest] = field(default_factory=dict)
    """Requests that were refused whole for what they hold, whose halves are to come."""
    sealed_halves: set[str] = field(default_factory=set)
    """Ids of halves that are only ever sent again as they are."""
    scopes: dict[Hashable, ScopeView] = field(default_factory=dict)
    all_ledgers: Mapping[int, Ledger] = field(default_factory=dict)
    """Of all writers of the history, this one among them: they share what limits a scope."""
    flushes: dict[int, FlushCalled] = field(default_factory=dict)
    flush_marks: dict[int, int] = field(default_factory=dict)
    routes: set[Hashable] = field(default_factory=set)
    restored: int = 0
    restored_bytes: int = 0
    progress_s: float = -inf
    """When an entry was last acknowledged or given up, or came to a writer that held none."""
    failing: bool = False
    failed: bool = False
    closing: bool = False
    gone: bool = False
    _orders: int = 0
    _by_place: dict[Place, dict[Any, Tracked]] = field(default_factory=lambda: {place: {} for place in Place})

    @property
    def steady(self) -> bool:
        """Whether the writer is at work: neither failed nor being closed."""
        return not (self.failing or self.closing or self.gone)

    def scope(self, name: Hashable, now_s: float) -> ScopeView:
        return self.scopes.setdefault(name, ScopeView(now_s))

    def at(self, *places: Place) -> list[Tracked]:
        """The entries at these places, in the order of acceptance."""
        found = [each for place in places for each in self._by_place[place].values()]
        found.sort(key=_order)
        return found

    def count(self, place: Place) -> int:
        """How many entries are at a place."""
        return len(self._by_place[place])

    def unacknowledged(self) -> list[Tracked]:
        """The entries that are accepted beyond doubt and not acknowledged, in the order of acceptance."""
        return [each for each in self.at(*_HELD) if each.certain]

    def move(self, tracked: Tracked, place: Place, now_s: float, request: SentRequest | None = None) -> None:
        """Note that an entry has come to a place."""
        del self._by_place[tracked.place][tracked.entry]
        self._by_place[place][tracked.entry] = tracked
        tracked.place, tracked.since_s, tracked.request = place, now_s, request
        if place in _PROGRESS:
            self.progress_s = now_s

    def deadline_s(self, request: SentRequest) -> float:
        return request.started_s + self.config.request_timeout_s

    def is_overdue(self, request: SentRequest, now_s: float) -> bool:
        """Whether its deadline has come, at this very instant or before."""
        return now_s >= self.deadline_s(request) - EPSILON_S

    def overtaken(self, request: SentRequest) -> bool:
        """Whether its deadline has passed and it was sent again, so that its own answer counts no more."""
        return request.number not in self.open_requests and request.number not in self.late

    def expire(self, now_s: float) -> None:
        """Note the deadlines that have passed without the destination having seen its request cut."""
        while self.open_requests:
            request = next(iter(self.open_requests.values()))
            deadline_s = self.deadline_s(request)
            if now_s <= deadline_s + EPSILON_S or self.gone:
                return
            self._close(request)
            self.late[request.number] = self.sealed[request.id] = request
            scope = self.scope(request.scope, deadline_s)
            scope.failed_s = max(scope.failed_s, deadline_s)
            for entry in request.entries:
                if entry in self.entries:
                    self.move(self.entries[entry], Place.SEALED, deadline_s, request)

    def apply(self, event: Event) -> None:
        """Take note of an event."""
        take_note = _NOTES.get(type(event))
        if take_note is not None:
            take_note(self, event)

    def _note_flush(self, event: FlushCalled) -> None:
        self.flushes[event.number] = event
        self.flush_marks[event.number] = self._orders

    def _note_end_of_flush(self, event: FlushReturned) -> None:
        self.flushes.pop(event.number, None)

    def _note_answer(self, event: RequestEnded) -> None:
        if not self.overtaken(event.request):
            self._end(event.request)

    def _note_letters(self, event: DeadLettered) -> None:
        for entry in event.entries:
            tracked = self.entries.get(entry)
            if tracked is not None and tracked.place is Place.CONDEMNED:
                self.move(tracked, Place.DEAD_LETTERED, event.time_s, tracked.request)

    def _note_failure(self, event: Failed) -> None:
        self.failed = self.failing = True

    def offer(self, entries: Iterable[Any], now_s: float, *, certain: bool = False) -> None:
        if not self.at(*_HELD):
            self.progress_s = now_s
        for entry in entries:
            place = Place.BUFFERED if certain else Place.OFFERED
            before = self.entries.get(entry)
            if before is not None:
                del self._by_place[before.place][entry]
            size = getattr(entry, "size", 0) or len(entry)
            tracked = Tracked(entry, self._orders, place, now_s, certain, size=size)
            tracked.route, tracked.key = getattr(entry, "route", None), getattr(entry, "key", None)
            too_large = size > self.config.max_record_size_in_bytes
            tracked.unsendable = too_large or getattr(entry, "flaw", "") == "broken"
            self.entries[entry] = self._by_place[place][entry] = tracked
            self.routes.add(tracked.route)
            self._orders += 1

    def accept(self, entries: Iterable[Any], refused: Iterable[Any], now_s: float) -> None:
        for entry in entries:
            tracked = self.entries[entry]
            tracked.certain = True
            if tracked.unsendable:
                drops = self.config.on_rejected == "drop"
                # To drop what was never sent is no progress. When a letter was written nobody can tell: at the
                # earliest when its element was offered, and the call has waited.
                progress_s = self.progress_s if drops else max(self.progress_s, tracked.since_s)
                self.move(tracked, Place.DROPPED if drops else Place.DEAD_LETTERED, now_s)
                self.progress_s = progress_s
            elif tracked.place is Place.OFFERED:
                # It may have come in earlier, while the call waited: the oracle never asks for more than is due.
                self.move(tracked, Place.BUFFERED, now_s)
        for entry in refused:
            if self.entries[entry].place is Place.OFFERED:
                self.move(self.entries[entry], Place.REFUSED, now_s)

    def start(self, request: SentRequest) -> None:
        twins = (*self.open_requests.values(), *self.late.values())
        twin = next((each for each in twins if each.id == request.id), None)
        if twin is not None and self.is_overdue(twin, request.started_s):
            self._close(twin)
            self.sealed[twin.id] = twin
            self.scope(twin.scope, request.started_s).failed_s = request.started_s
        self.open_requests[request.number] = request
        self.scope(request.scope, request.started_s).in_flight += 1
        for entry in request.entries:
            if entry in self.entries:
                self.move(self.entries[entry], Place.IN_FLIGHT, request.started_s, request)

    def _close(self, request: SentRequest) -> None:
        if self.open_requests.pop(request.number, None) is not None:
            self.scope(request.scope, request.started_s).in_flight -= 1
        else:
            del self.late[request.number]

    def _end(self, request: SentRequest) -> None:
        self._close(request)
        scope = self.scope(request.scope, request.started_s)
        unknown = request.ending in (Ending.UNKNOWN, Ending.CUT)
        throttled = request.ending is Ending.THROTTLED or FailureKind.THROTTLED in request.failed.values()
        if unknown or throttled:
            scope.failed_s = request.ended_s
            asked_s = min(request.retry_after_s or 0.0, self.config.retry.retry_after_cap_s)
            if asked_s:
                scope.not_before_s = max(scope.not_before_s, request.ended_s + asked_s)
        was_sealed = self.is_sealed(request.id)
        self.sealed.pop(request.id, None)
        if request.ending is Ending.REJECTED:
            self._refuse_whole(request)
            return
        if request.ending is Ending.FATAL:
            self.failing = True
        stays = unknown or (was_sealed and _refused_whole(request))
        if stays:
            self.sealed[request.id] = request
        for index, entry in enumerate(request.entries):
            if entry in self.entries:
                self._place(self.entries[entry], request, index, stays)

    def is_sealed(self, id: str) -> bool:
        """Whether the request of that id is only ever sent again as it is."""
        return id in self.sealed or id in self.sealed_halves

    def _refuse_whole(self, request: SentRequest) -> None:
        known = [self.entries[entry] for entry in request.entries if entry in self.entries]
        if len(request.entries) == 1:
            for tracked in known:
                self._give_up(tracked, request)
            return
        self.halved[request.id] = request
        # A throttled half cut anew would be one request with the other one again, and refused again.
        self.sealed_halves |= {f"{request.id}/0", f"{request.id}/1"}
        for tracked in known:
            self.move(tracked, Place.HALVED, request.ended_s, request)

    def _give_up(self, tracked: Tracked, request: SentRequest) -> None:
        """The entry can never be delivered."""
        mode = self.config.on_rejected
        self.failing = self.failing or mode == "fail"
        place = {"fail": Place.BUFFERED, "drop": Place.DROPPED, "dead_letter": Place.CONDEMNED}[mode]
        self.move(tracked, place, request.ended_s, request)

    def _place(self, tracked: Tracked, request: SentRequest, index: int, stays: bool) -> None:
        kind = request.failed.get(index)
        if stays:
            self.move(tracked, Place.SEALED, request.ended_s, request)
        elif request.ending is Ending.ANSWERED and kind is None:
            self.move(tracked, Place.ACKNOWLEDGED, request.ended_s, request)
        elif kind is FailureKind.REJECTED:
            self._give_up(tracked, request)
        elif kind is FailureKind.RETRYABLE:
            tracked.attempts += 1
            if tracked.attempts >= self.config.retry.max_attempts:
                self._give_up(tracked, request)
            else:
                self.move(tracked, Place.OWN_BACKOFF, request.ended_s)
        else:
            self.move(tracked, Place.BUFFERED, request.ended_s)


_order = attrgetter("order")
_HELD = (
    Place.OFFERED,
    Place.BUFFERED,
    Place.OWN_BACKOFF,
    Place.IN_FLIGHT,
    Place.SEALED,
    Place.HALVED,
    Place.CONDEMNED,
)
SETTLED = frozenset({Place.ACKNOWLEDGED, Place.DEAD_LETTERED, Place.DROPPED, Place.REFUSED})
"""Where a writer holds an entry no more."""
_PROGRESS = (SETTLED | {Place.CONDEMNED}) - {Place.REFUSED}
_NOTES: dict[type[Event], Callable[[Ledger, Any], None]] = {
    Offered: lambda ledger, event: ledger.offer(event.entries, event.time_s),
    Accepted: lambda ledger, event: ledger.accept(event.entries, event.refused, event.time_s),
    RequestStarted: lambda ledger, event: ledger.start(event.request),
    RequestEnded: Ledger._note_answer,
    FlushCalled: Ledger._note_flush,
    FlushReturned: Ledger._note_end_of_flush,
    Failed: Ledger._note_failure,
    DeadLettered: Ledger._note_letters,
    Closing: lambda ledger, event: setattr(ledger, "closing", True),
    Gone: lambda ledger, event: setattr(ledger, "gone", True),
}


def _refused_whole(request: SentRequest) -> bool:
    """Whether nothing was said of single entries: such an answer leaves a sealed request sealed."""
    if request.ending is not Ending.ANSWERED:
        return True
    kinds = list(request.failed.values())
    return len(kinds) == len(request.entries) and set(kinds) == {FailureKind.THROTTLED}


def ledger_of(event: Opened) -> Ledger:
    """The ledger of a writer that was just entered."""
    ledger = Ledger(event.writer, event.config, event.limited, event.time_s, restored=len(event.restored))
    ledger.offer(event.restored, event.time_s, certain=True)
    ledger.restored_bytes = sum(each.size for each in ledger.entries.values())
    return ledger
