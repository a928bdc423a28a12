"""Runs of entries that are kept together, so that cost falls on blocks and not on entries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from operator import sub
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

EntryT = TypeVar("EntryT")
EntryT_co = TypeVar("EntryT_co", covariant=True)

Routes = tuple[Sequence[Hashable], Sequence[int]]
"""The distinct routes of a block, and for each entry the index of its own among them."""

RoutePart = tuple[Hashable | None, "EntryBlock[Any]", Sequence[int] | None]
"""The entries of one route in a block of their own, and a number for each; None where the block is the whole one."""


@runtime_checkable
class EntryBlock(Protocol[EntryT_co]):
    """A run of entries that stay together from converter to request. Immutable.

    All limits use :meth:`size_in_bytes`; there is no other measure of size. Keys and routes survive slice and take.
    A block type may define ``merged(blocks)``, a static method that joins blocks of its own type; the kernel uses it
    where a request spans several blocks and its connector asks for one. It may define ``split(first)`` as well, which
    returns what :func:`split` does, if it knows a faster way; the kernel uses it for a block with routes.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> EntryT_co:
        """The entry at `index`, counted from 0; IndexError outside, also outside of a slice, so that loops end."""
        ...

    def __iter__(self) -> Iterator[EntryT_co]: ...
    def size_in_bytes(self, start: int, stop: int) -> int:
        """Bytes of the entries from `start` to before `stop`, as the service counts them, in constant time."""
        ...

    def oversized(self, limit: int) -> Sequence[int]:
        """The indices of entries larger than `limit` bytes; empty in constant time where the whole block is smaller."""
        ...

    def slice(self, start: int, stop: int) -> EntryBlock[EntryT_co]:
        """The entries from `start` to before `stop`, in shared memory."""
        ...

    def take(self, indices: Sequence[int]) -> EntryBlock[EntryT_co]:
        """The entries at `indices`, copied, so that the rest of the block can be freed."""
        ...

    def keys(self) -> Sequence[Hashable | None] | None:
        """The key of each entry, or None if the entries have none."""
        ...

    def routes(self) -> Routes | None:
        """The routes of the entries, dictionary-encoded, or None if all have the same (no) route."""
        ...


class ListBlock(Generic[EntryT]):
    """A block over a Python list.

    :param entries: the entries; the caller leaves the list alone from then on
    :param sizes: bytes of each entry
    :param keys: the key of each entry, or None
    :param routes: the distinct routes and the index of each entry's own, or None
    """

    __slots__ = ("_entries", "_keys", "_offsets", "_routes", "_start", "_stop")

    def __init__(
        self,
        entries: Sequence[EntryT],
        sizes: Sequence[int],
        keys: Sequence[Hashable | None] | None = None,
        routes: Routes | None = None,
    ) -> None:
        if len(sizes) != len(entries):
            raise ValueError(f"a ListBlock of {len(entries)} entries was given {len(sizes)} sizes; give one for each")
        self._offsets: Sequence[int] = list(accumulate(sizes, initial=0))
        self._entries, self._keys, self._routes = entries, keys, routes
        self._start, self._stop = 0, len(entries)

    @classmethod
    def of_offsets(
        cls,
        entries: Sequence[EntryT],
        offsets: Sequence[int],
        keys: Sequence[Hashable | None] | None = None,
        routes: Routes | None = None,
    ) -> ListBlock[EntryT]:
        """A block of entries whose sizes have been summed up: where each begins, from anywhere, and the last ends."""
        if len(offsets) != len(entries) + 1:
            raise ValueError(f"a ListBlock of {len(entries)} entries was given {len(offsets)} offsets; give one more")
        block = cls.__new__(cls)
        block._offsets = offsets
        block._entries, block._keys, block._routes = entries, keys, routes
        block._start, block._stop = 0, len(entries)
        return block

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, index: int, /) -> EntryT:
        if not 0 <= index < self._stop - self._start:
            raise IndexError(f"a block of {len(self)} entries has no index {index}")
        return self._entries[self._start + index]

    def __iter__(self) -> Iterator[EntryT]:
        return iter(self._entries[self._start : self._stop])

    def __repr__(self) -> str:
        return f"<ListBlock of {len(self)} entries, {self.size_in_bytes(0, len(self))} bytes>"

    def size_in_bytes(self, start: int, stop: int) -> int:
        offsets = self._offsets
        return offsets[self._start + stop] - offsets[self._start + start]

    def oversized(self, limit: int) -> Sequence[int]:
        if self.size_in_bytes(0, len(self)) <= limit:
            return ()
        offsets = self._offsets[self._start : self._stop + 1]
        sizes = [*map(sub, offsets[1:], offsets)]  # a third of what it costs to ask for each size
        return [index for index, size in enumerate(sizes) if size > limit] if max(sizes) > limit else ()

    def slice(self, start: int, stop: int) -> ListBlock[EntryT]:
        part = ListBlock.__new__(ListBlock)
        part._entries, part._offsets, part._keys, part._routes = self._entries, self._offsets, self._keys, self._routes
        part._start, part._stop = self._start + start, self._start + stop
        return part

    def take(self, indices: Sequence[int]) -> ListBlock[EntryT]:
        base = self._start
        keys, routes = self._keys, self._routes
        return ListBlock(
            [self._entries[base + index] for index in indices],
            [self.size_in_bytes(index, index + 1) for index in indices],
            None if keys is None else [keys[base + index] for index in indices],
            None if routes is None else (routes[0], [routes[1][base + index] for index in indices]),
        )

    def keys(self) -> Sequence[Hashable | None] | None:
        return None if self._keys is None else self._keys[self._start : self._stop]

    def routes(self) -> Routes | None:
        if self._routes is None:
            return None
        return self._routes[0], self._routes[1][self._start : self._stop]

    @staticmethod
    def merged(blocks: Sequence[ListBlock[Any]]) -> ListBlock[Any]:
        """One block of the entries of several, in order. Keys and routes are left behind: a request needs neither."""
        entries: list[Any] = []
        for block in blocks:
            entries.extend(block)
        return ListBlock(entries, [size for block in blocks for size in sizes_of(block)])


def sizes_of(block: EntryBlock[Any]) -> list[int]:
    """The bytes of each entry of a block."""
    return [block.size_in_bytes(index, index + 1) for index in range(len(block))]


def merge(blocks: Sequence[EntryBlock[EntryT]]) -> EntryBlock[EntryT]:
    """One block of the entries of several, in order; of their own type if they share one that can be merged."""
    if len(blocks) == 1:
        return blocks[0]
    kind = type(blocks[0])
    if hasattr(kind, "merged") and all(type(block) is kind for block in blocks):
        merged: EntryBlock[EntryT] = kind.merged(blocks)
        return merged
    entries = [block[index] for block in blocks for index in range(len(block))]
    return ListBlock(entries, [size for block in blocks for size in sizes_of(block)])


def split(block: EntryBlock[Any], first: int, routes: Routes) -> list[RoutePart]:
    """A block by these routes, in order of first appearance, its entries numbered from `first`.

    The parts are copies, so that one whose route is stuck does not keep the others in memory. A block of one route is
    not copied.
    """
    distinct, indices = routes
    places: dict[int, list[int]] = {}
    for index, route in enumerate(indices):
        places.setdefault(route, []).append(index)
    if len(places) < 2:
        return [(distinct[route], block, None) for route in places]
    return [
        (distinct[route], block.take(chosen), [first + index for index in chosen]) for route, chosen in places.items()
    ]


def fitting(block: EntryBlock[Any], start: int, stop: int, limit: int) -> int:
    """How far one can go from `start` towards `stop` before the entries exceed `limit` bytes: the index to stop at."""
    if block.size_in_bytes(start, stop) <= limit:
        return stop
    return bisect_right(range(start, stop), limit, key=lambda end: block.size_in_bytes(start, end + 1)) + start
