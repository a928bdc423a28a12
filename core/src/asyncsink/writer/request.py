"""A request under way: what the connector sees of it, and what the writer keeps beside."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from asyncsink.blocks import EntryBlock, merge
from asyncsink.request import RequestEntries

if TYPE_CHECKING:
    from asyncsink.writer.buffer import Lane, Run
    from asyncsink.writer.workers import Worker

EntryT = TypeVar("EntryT")


class InFlightRequest(RequestEntries[EntryT]):
    """The entries of a request with its bookkeeping: one object, since every request on the hot path makes one.

    :ivar number: of the id among those of its writer; a sealed resend keeps it, and so do the parts of a request that
        was bisected, which differ by their `path`
    :ivar after: the path of the other half, which has to be settled first as both hold entries of one key
    :ivar sealed: its outcome was unknown once, so it is only ever sent again as it is
    :ivar failing_since_s: when its outcome first was unknown
    :ivar over: it has ended for the writer, though the connector may still be at work on it
    """

    __slots__ = (
        "_attempt",
        "_block",
        "_offsets",
        "_prefix",
        "_route",
        "after",
        "failing_since_s",
        "lane",
        "length",
        "number",
        "over",
        "path",
        "pieces",
        "scope_start",
        "sealed",
        "size",
        "start",
        "start_s",
        "worker",
    )

    def __init__(
        self, lane: Lane, pieces: list[Run], count: int, size: int, prefix: str, number: int, attempt: int = 1
    ) -> None:
        self.lane = lane
        self.pieces = pieces
        self.number = number
        self.sealed = False
        self.path: tuple[int, ...] = ()
        self.after: tuple[int, ...] | None = None
        self.failing_since_s: float | None = None
        self.over = False
        self.start = self.scope_start = 0
        self.start_s = 0.0
        self.worker: Worker | None = None
        self._route = lane.route
        self.length, self.size = count, size
        self._prefix, self._attempt = prefix, attempt
        self._block: EntryBlock[EntryT] | None = None
        self._offsets: list[int] | None = None

    def again(self) -> InFlightRequest[EntryT]:
        """The same request to be sent once more; a new object, as the connector may still hold this one."""
        twin: InFlightRequest[EntryT] = InFlightRequest(
            self.lane, self.pieces, self.length, self.size, self._prefix, self.number, self._attempt + 1
        )
        twin.sealed, twin.failing_since_s, twin._block = self.sealed, self.failing_since_s, self._block
        twin.path, twin.after = self.path, self.after
        return twin

    def part(self, pieces: list[Run], which: int) -> InFlightRequest[EntryT]:
        """One half of a request that was refused for what it holds: a request of its own, sealed if this one was.

        It has not failed yet: the destination has judged what it holds, and so is not unavailable.
        """
        count, size = sum(map(len, pieces)), sum(run.size_in_bytes for run in pieces)
        half: InFlightRequest[EntryT] = InFlightRequest(self.lane, pieces, count, size, self._prefix, self.number, 0)
        half.sealed, half.path = self.sealed, (*self.path, which)
        half.after = self.after
        return half

    def is_part_of(self, path: tuple[int, ...]) -> bool:
        """Whether this is the part of that path of its number, or what bisecting has left of it."""
        return self.path[: len(path)] == path

    @property
    def id(self) -> str:
        whole = self._prefix if self.lane.is_deterministic else f"{self._prefix}{self.number}"
        return "/".join((whole, *map(str, self.path))) if self.path else whole

    @property
    def attempt(self) -> int:
        return self._attempt

    @property
    def route(self) -> Hashable | None:
        return self._route

    @property
    def size_in_bytes(self) -> int:
        return self.size

    @property
    def block(self) -> EntryBlock[EntryT]:
        if self._block is None:
            self._block = merge([piece.block.slice(piece.start, piece.stop) for piece in self.pieces])
        return self._block

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[EntryT]:
        for piece in self.pieces:
            yield from piece.block.slice(piece.start, piece.stop)

    def _entry(self, index: int) -> EntryT:
        piece, at = self.place(index)
        entry: EntryT = piece.block[at]
        return entry

    def place(self, index: int) -> tuple[Run, int]:
        """The piece that holds an entry, and its index in that piece's block."""
        if len(self.pieces) == 1:
            return self.pieces[0], self.pieces[0].start + index
        which = bisect_right(self._starts(), index) - 1
        piece = self.pieces[which]
        return piece, piece.start + index - self._starts()[which]

    def _starts(self) -> Sequence[int]:
        if self._offsets is None:
            self._offsets = list(accumulate(map(len, self.pieces), initial=0))[:-1]
        return self._offsets

    def __repr__(self) -> str:
        return f"<request {self.id}, attempt {self._attempt}: {self.length} entries, {self.size} bytes>"
