"""The order of keys, where one was asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import ClassVar

from asyncsink_testing.history import Event, History, RequestStarted
from asyncsink_testing.ledger import Ledger, Place, Tracked
from asyncsink_testing.rules.base import Rule

_HOLDS_ITS_KEY = (Place.IN_FLIGHT, Place.SEALED, Place.HALVED, Place.OWN_BACKOFF)
_BEFORE = (*_HOLDS_ITS_KEY, Place.BUFFERED)


def sendable(waiting: list[Tracked], ledger: Ledger) -> list[Tracked]:
    """The entries among those that wait in the buffer whose keys are free, one of a key, in order."""
    held: set[tuple[Hashable, Hashable]] = {(each.route, each.key) for each in ledger.at(*_HOLDS_ITS_KEY)}
    found = []
    for each in waiting:
        name = each.route, each.key
        if each.key is None or name not in held:
            found.append(each)
            held.add(name)
    return found


class KeyOrder(Rule):
    """A key has at most one request under way, and its entries go in the order in which they were accepted.

    A sink that does not store requests whole has at most one entry of a key in a request. All of it within a route.
    """

    name = "key-order"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def __init__(self, history: History) -> None:
        super().__init__(history)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        if ledger.config.ordering != "key":
            return
        request = event.request
        own = {entry: ledger.entries[entry] for entry in request.entries if entry in ledger.entries}
        last: dict[Hashable, Tracked] = {}
        for each in own.values():
            if each.key is None:
                continue
            if each.key in last and not self.history.atomic:
                yield f"{request} holds {last[each.key].entry!r} and {each.entry!r}, two of one key"
            last[each.key] = each
        for other in ledger.at(*_BEFORE):
            mine = last.get(other.key) if other.key is not None and other.route == request.route else None
            if mine is None or other.entry in own:
                continue
            if other.place is Place.IN_FLIGHT and not self._is_overdue(other, event.time_s, ledger):
                yield f"{request} sends {mine.entry!r} while {other.entry!r}, of the same key, is in {other.request}"
            elif other.order < mine.order and other.certain:
                yield (
                    f"{request} sends {mine.entry!r} before {other.entry!r}, which has the same key, was accepted "
                    f"earlier, and is {other.place.value} since {other.since_s:.6g}"
                )

    def _is_overdue(self, other: Tracked, now_s: float, ledger: Ledger) -> bool:
        return other.request is not None and ledger.is_overdue(other.request, now_s)
