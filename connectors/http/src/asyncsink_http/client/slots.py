"""Connections and the requests under way on each.

httpcore's own pool looks at every connection for every request, which makes a request cost the more the more of them
are in flight (6.5 ms of CPU at 64). Here a request takes the connection with room that was used last, so that a request
costs the same however many there are, and only as many connections stay warm as are needed.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Hashable

import anyio
import httpcore

from asyncsink_http.client.connecting import Opening
from asyncsink_http.client.transport import CLOSE_TIMEOUT_S

_MOST_IDLE_ELSEWHERE = 64  # connections that are kept for other origins than the one that needs a new one
_HUNG_UP = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0)


class Slot:
    """A connection, and how many requests are under way on it."""

    __slots__ = ("backend", "connection", "is_retired", "origin", "requests", "stream")

    def __init__(self, origin: Hashable, opening: Opening) -> None:
        self.origin = origin
        self.connection, self.backend = opening
        self.requests = 0
        self.is_retired = False
        self.stream: httpcore.AsyncNetworkStream | None = None
        """What the connection runs over, once it has brought an answer."""

    def is_usable(self) -> bool:
        """Whether nothing is known that speaks against one more request."""
        connection = self.connection
        if connection.is_closed() or connection.has_expired():
            return False
        if self.stream is None:
            return True
        if self.requests > 0:
            return True
        return connection.is_available() and not _is_hung_up(self.stream) and not _has_leftovers(connection)


class Slots:
    """Keeps connections, and has another made where none has room.

    :param most_requests: that may be under way on a connection at once
    """

    def __init__(self, most_requests: int) -> None:
        self._most_requests = most_requests
        self._all: set[Slot] = set()
        self._with_room: dict[Hashable, list[Slot]] = {}

    def __len__(self) -> int:
        return len(self._all)

    async def take(self, origin: Hashable, connect: Callable[[], Opening]) -> Slot:
        """A slot for one more request, to be given back or retired after it.

        :param connect: makes a connection to the origin, without opening it yet
        """
        while (slot := self._last_with_room(origin)) is not None and not slot.is_usable():
            self._hide(slot)
            await self._end_if_idle(slot)
        if slot is None:
            await self._end_one_elsewhere(origin)
            slot = Slot(origin, connect())
            self._all.add(slot)
            self._show(slot)
        slot.requests += 1
        if slot.requests == self._most_requests:
            self._hide(slot)
        return slot

    async def give_back(self, slot: Slot) -> None:
        """End a request that went well."""
        slot.requests -= 1
        if slot.is_retired:
            await self._end_if_idle(slot)
        elif slot.requests == self._most_requests - 1:
            self._show(slot)

    async def retire(self, slot: Slot) -> None:
        """End a request that did not: no other begins on its connection, and the last one closes it."""
        slot.requests -= 1
        if not slot.is_retired:
            slot.is_retired = True
            self._hide(slot)
        await self._end_if_idle(slot)

    async def aclose(self) -> None:
        """Close every connection."""
        slots = list(self._all)
        self._all.clear()
        self._with_room.clear()
        for slot in slots:
            slot.is_retired = True
            await _close(slot)

    def _last_with_room(self, origin: Hashable) -> Slot | None:
        slots = self._with_room.get(origin)
        return slots[-1] if slots else None

    def _show(self, slot: Slot) -> None:
        if slot in self._all:
            self._with_room.setdefault(slot.origin, []).append(slot)

    def _hide(self, slot: Slot) -> None:
        slots = self._with_room.get(slot.origin, [])
        if slots and slots[-1] is slot:
            slots.pop()
        elif slot in slots:
            slots.remove(slot)
        if not slots:
            self._with_room.pop(slot.origin, None)

    async def _end_if_idle(self, slot: Slot) -> None:
        slot.is_retired = True
        if not slot.requests and slot in self._all:
            self._all.discard(slot)
            await _close(slot)

    async def _end_one_elsewhere(self, origin: Hashable) -> None:
        """Make room for a new origin where rows choose among many hosts."""
        if len(self._with_room) <= _MOST_IDLE_ELSEWHERE:
            return
        idle = (slots[0] for other, slots in self._with_room.items() if other != origin and not slots[0].requests)
        if (slot := next(idle, None)) is not None:
            self._hide(slot)
            await self._end_if_idle(slot)


def _is_hung_up(stream: httpcore.AsyncNetworkStream) -> bool:
    """Whether the server has closed an idle connection, also behind frames that nobody has read yet."""
    socket = stream.get_extra_info("socket")
    if socket is None or not _HUNG_UP:
        return False
    if socket.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(socket.fileno(), _HUNG_UP)
    return bool(poll.poll(0))


def _has_leftovers(connection: object) -> bool:
    """Whether HTTP/1.1 has read more than an answer, as of a server that sends a body with a 204.

    The next request would take it for its own answer, and leave that to the one behind it.
    """
    while (inner := getattr(connection, "_connection", None)) is not None:
        connection = inner
    state = getattr(connection, "_h11_state", None)
    return state is not None and bool(state.trailing_data[0])


async def _close(slot: Slot) -> None:
    # Also after a cancellation: a connection with half a request on it must not stay open.
    with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
        try:
            await slot.connection.aclose()
        finally:
            await slot.backend.aclose()
