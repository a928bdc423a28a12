"""Bounds: of a request, of what is in flight, of a scope's share, of the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from asyncsink_testing.history import Event, RequestStarted, SnapshotTaken
from asyncsink_testing.ledger import Ledger, Place
from asyncsink_testing.rules.base import EPSILON_S, Rule


class BatchBounds(Rule):
    """A request holds at least one entry, at most ``max_batch_size``, within its bytes, all of one route."""

    name = "batch-bounds"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        request, config = event.request, ledger.config
        count = len(request.entries)
        size = sum(ledger.entries[entry].size for entry in request.entries if entry in ledger.entries)
        if not 1 <= count <= config.max_batch_size:
            yield f"{request} must hold 1 to {config.max_batch_size} entries"
        if size > config.max_batch_size_in_bytes:
            yield f"{request} has {size} bytes, more than max_batch_size_in_bytes = {config.max_batch_size_in_bytes}"
        if size != request.size_in_bytes and all(entry in ledger.entries for entry in request.entries):
            yield f"{request} says that it has {request.size_in_bytes} bytes; its entries have {size}"
        routes = {ledger.entries[entry].route for entry in request.entries if entry in ledger.entries}
        if routes - {request.route}:
            yield f"{request} holds entries of the routes {sorted(map(repr, routes))}"


class InFlightBound(Rule):
    """At most ``max_in_flight_requests`` of a writer are under way."""

    name = "in-flight-bound"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        # One that is overdue at this very instant is being cut.
        open_now = [each for each in ledger.open_requests.values() if not ledger.is_overdue(each, event.time_s)]
        if len(open_now) >= ledger.config.max_in_flight_requests:
            yield (
                f"{event.request} is one more than max_in_flight_requests = {ledger.config.max_in_flight_requests}; "
                f"{len(open_now)} are under way, the oldest {open_now[0]}"
            )


class ScopeShare(Rule):
    """No scope takes the last slot once the writer has seen a second scope."""

    name = "scope-share"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        scope, most = event.request.scope, ledger.config.max_in_flight_requests
        others = [
            name for name, view in ledger.scopes.items() if name != scope and view.seen_s < event.time_s - EPSILON_S
        ]
        in_flight = [
            each
            for each in ledger.open_requests.values()
            if each.scope == scope and not ledger.is_overdue(each, event.time_s)
        ]
        if others and len(in_flight) >= max(1, most - 1):
            yield (
                f"{event.request} gives scope {scope!r} {len(in_flight) + 1} of {most} slots although the writer knows "
                f"{len(others) + 1} scopes; one that hangs would stall the others"
            )


class BufferBounds(Rule):
    """What is not acknowledged stays within the buffer's bounds in bytes, and in count with what is in flight."""

    name = "buffer-bounds"
    events: ClassVar[tuple[type[Event], ...]] = (SnapshotTaken,)

    def check(self, event: SnapshotTaken, ledger: Ledger) -> Iterator[str]:
        config, held = ledger.config, sum(event.sizes)
        if held > max(config.max_buffered_size_in_bytes, ledger.restored_bytes):
            yield f"{held} bytes are held, more than max_buffered_size_in_bytes = {config.max_buffered_size_in_bytes}"
        # A sealed request counts as in flight, and each route may have some.
        in_flight = config.max_in_flight_requests * config.max_batch_size * max(1, len(ledger.routes))
        most = config.max_buffered_requests + max(in_flight, ledger.restored) + ledger.count(Place.CONDEMNED)
        if len(event.entries) > most:
            yield (
                f"{len(event.entries)} entries are held, more than max_buffered_requests = "
                f"{config.max_buffered_requests} and what may be in flight"
            )
