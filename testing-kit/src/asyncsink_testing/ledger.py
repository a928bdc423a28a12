"""What the oracle knows of each writer while it reads a history: where every entry is, and why."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any

from asyncsink import FailureKind
from asyncsink_testing.history import (
    Accepted,
    Closing,
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


class Place(Enum):
    """Where an entry is."""

    OFFERED = "offered"
    BUFFERED = "buffered"
    OWN_BACKOFF = "in its own backoff"
    IN_FLIGHT = "in flight"
    SEALED = "in a sealed request"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"


@dataclass(slots=True, eq=False)
class Tracked:
    """One entry of one writer.

    :ivar order: its number in the order of acceptance
    :ivar since_s: when it came to its place
    :ivar certain: a call has said that the writer accepted it; before, only the destination's having seen it tells
    :ivar not_before_s: what an answer asked for, of this entry
    """

    entry: Any
    order: int
    place: Place
    since_s: float
    certain: bool = False
    request: SentRequest | None = None
    not_before_s: float = -inf
    route: Hashable | None = None
    size: int = 0

    def move(self, place: Place, now_s: float, request: SentRequest | None = None) -> None:
        self.place, self.since_s, self.request = place, now_s, request


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
    sealed: dict[str, SentRequest] = field(default_factory=dict)
    scopes: dict[Hashable, ScopeView] = field(default_factory=dict)
    flushes: dict[int, FlushCalled] = field(default_factory=dict)
    flush_marks: dict[int, int] = field(default_factory=dict)
    routes: set[Hashable] = field(default_factory=set)
    restored: int = 0
    restored_bytes: int = 0
    failing: bool = False
    failed: bool = False
    closing: bool = False
    gone: bool = False
    _orders: int = 0

    @property
    def steady(self) -> bool:
        """Whether the writer is at work: neither failed nor being closed."""
        return not (self.failing or self.closing or self.gone)

    def scope(self, name: Hashable, now_s: float) -> ScopeView:
        return self.scopes.setdefault(name, ScopeView(now_s))

    def at(self, *places: Place) -> list[Tracked]:
        """The entries at these places, in the order of acceptance."""
        return [each for each in self.entries.values() if each.place in places]

    def unacknowledged(self) -> list[Tracked]:
        """The entries that are accepted beyond doubt and not acknowledged, in the order of acceptance."""
        return [each for each in self.entries.values() if each.certain and each.place not in _SETTLED]

    def deadline_s(self, request: SentRequest) -> float:
        return request.started_s + self.config.request_timeout_s

    def overtaken(self, request: SentRequest) -> bool:
        """Whether its deadline has passed and it was sent again, so that its own answer counts no more."""
        return request.number not in self.open_requests

    def apply(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case Offered(entries=entries):
                self.offer(entries, event.time_s)
            case Accepted(entries=entries, refused=refused):
                self._accept(entries, refused, event.time_s)
            case RequestStarted(request=request):
                self._start(request)
            case RequestEnded(request=request):
                if not self.overtaken(request):
                    self._end(request)
            case FlushCalled():
                self.flushes[event.number] = event
                self.flush_marks[event.number] = self._orders
            case FlushReturned():
                self.flushes.pop(event.number, None)
            case Failed():
                self.failed = self.failing = True
            case Closing():
                self.closing = True
            case Gone():
                self.gone = True

    def offer(self, entries: Iterable[Any], now_s: float, *, certain: bool = False) -> None:
        for entry in entries:
            place = Place.BUFFERED if certain else Place.OFFERED
            route, size = getattr(entry, "route", None), getattr(entry, "size", 0) or len(entry)
            self.entries[entry] = Tracked(entry, self._orders, place, now_s, certain, route=route, size=size)
            self.routes.add(route)
            self._orders += 1

    def _accept(self, entries: Iterable[Any], refused: Iterable[Any], now_s: float) -> None:
        for entry in entries:
            tracked = self.entries[entry]
            tracked.certain = True
            if tracked.place is Place.OFFERED:
                # It may have come in earlier, while the call waited: the oracle never asks for more than is due.
                tracked.move(Place.BUFFERED, now_s)
        for entry in refused:
            if self.entries[entry].place is Place.OFFERED:
                self.entries[entry].place = Place.REFUSED

    def _start(self, request: SentRequest) -> None:
        twin = next((each for each in self.open_requests.values() if each.id == request.id), None)
        if twin is not None and request.started_s >= self.deadline_s(twin):
            self._close(twin)
            self.sealed[twin.id] = twin
            self.scope(twin.scope, request.started_s).failed_s = request.started_s
        self.open_requests[request.number] = request
        self.scope(request.scope, request.started_s).in_flight += 1
        for entry in request.entries:
            if entry in self.entries:
                self.entries[entry].move(Place.IN_FLIGHT, request.started_s, request)

    def _close(self, request: SentRequest) -> None:
        del self.open_requests[request.number]
        self.scope(request.scope, request.started_s).in_flight -= 1

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
        if request.ending in (Ending.FATAL, Ending.REJECTED) or FailureKind.REJECTED in request.failed.values():
            self.failing = True
        stays = unknown or (request.id in self.sealed and _refused_whole(request))
        if stays:
            self.sealed[request.id] = request
        else:
            self.sealed.pop(request.id, None)
        for index, entry in enumerate(request.entries):
            if entry in self.entries:
                self._place(self.entries[entry], request, index, stays)

    def _place(self, tracked: Tracked, request: SentRequest, index: int, stays: bool) -> None:
        kind = request.failed.get(index)
        if stays:
            tracked.move(Place.SEALED, request.ended_s, request)
        elif request.ending is Ending.ANSWERED and kind is None:
            tracked.move(Place.ACKNOWLEDGED, request.ended_s, request)
        elif kind is FailureKind.RETRYABLE:
            tracked.move(Place.OWN_BACKOFF, request.ended_s)
        else:
            tracked.move(Place.BUFFERED, request.ended_s)


_SETTLED = (Place.ACKNOWLEDGED, Place.REFUSED)


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
