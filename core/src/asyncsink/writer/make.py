"""The one place where blocks of entries are made and split: from writes, restored states and replacements."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock, ListBlock, RoutePart, Routes, split
from asyncsink.errors import FatalRequestError

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink


class BlockMaker:
    """Makes blocks with the sizes and routes that a sink gives its entries."""

    __slots__ = ("_measures_each", "_sink", "keyed", "routed")

    def __init__(self, sink: AsyncSink[Any, Any, Any], keyed: bool) -> None:
        from asyncsink.async_sink import AsyncSink

        self._sink = sink
        self.keyed = keyed
        """Whether the order of keys is kept; nobody asks for keys otherwise."""
        self.routed = sink.has_routes
        """Whether entries have routes at all; most sinks have one destination and skip the question."""
        self._measures_each = type(sink).sizes is AsyncSink.sizes

    @property
    def asks_each(self) -> bool:
        """Whether the sink is asked more of an entry than its size, and may raise: then at once, not at the next."""
        return self.routed or self.keyed

    def make(self, entries: Sequence[Any], sizes: Sequence[int] | None = None) -> ListBlock[Any]:
        """A block of these entries; measured unless their sizes are known."""
        if sizes is None and self._measures_each:
            return self.of_offsets(entries, self._offsets(entries))
        given = self._sink.sizes(entries) if sizes is None else sizes
        return ListBlock(entries, given, *self._keys_and_routes(entries))

    def _offsets(self, entries: Sequence[Any]) -> list[int]:
        """Where each entry begins and the last one ends: in one pass a twelfth faster than by a list of sizes."""
        size_of, end = self._sink.size_in_bytes, 0
        offsets = [end := end + size_of(entry) for entry in entries]
        offsets.insert(0, 0)
        return offsets

    def of_offsets(self, entries: Sequence[Any], offsets: Sequence[int]) -> ListBlock[Any]:
        """A block of entries that have been measured: where each begins, and where the last one ends."""
        return ListBlock.of_offsets(entries, offsets, *self._keys_and_routes(entries))

    def _keys_and_routes(self, entries: Sequence[Any]) -> tuple[Sequence[Hashable | None] | None, Routes | None]:
        keys = [*map(self._sink.key_of, entries)] if self.keyed else None
        return keys, self._routes(entries) if self.routed else None

    def keys_of(self, block: EntryBlock[Any]) -> Sequence[Hashable | None]:
        """The key of each entry: those that the block was made with, or what the sink says."""
        keys = block.keys()
        return [*map(self._sink.key_of, block)] if keys is None else keys

    def missing_keys(self, block: EntryBlock[Any]) -> Sequence[Hashable | None] | None:
        """The keys of a block that was made without; None if it has them, or nobody asks for keys.

        :raises TypeError: a key cannot be hashed; raised here, so that nothing has been accepted then
        """
        if not self.keyed:
            return None
        own = block.keys()
        keys = self.keys_of(block) if own is None else own
        frozenset(keys)
        return keys if own is None else None

    def _routes(self, entries: Sequence[Any]) -> Routes:
        distinct: dict[Hashable | None, int] = {}
        indices = [distinct.setdefault(self._sink.route_of(entry), len(distinct)) for entry in entries]
        return list(distinct), indices

    def split(self, block: EntryBlock[Any], first: int) -> list[RoutePart]:
        """A block by routes, in order of first appearance, with the sequence numbers of each part's entries.

        The sequence numbers are None, and the block is not copied, where all entries have one route.
        """
        if not self.routed:
            return [(None, block, None)]
        own = block.routes()
        if own is not None and hasattr(block, "split"):
            parts: list[RoutePart] = block.split(first)
            return parts
        return split(block, first, own or self._routes(list(block)))

    def size_of(self, entry: Any) -> int:
        return self._sink.size_in_bytes(entry)

    def replaced(
        self, block: EntryBlock[Any], replacements: Mapping[int, Any], route: Hashable | None
    ) -> ListBlock[Any]:
        """A block with some entries replaced by what the destination's answer made of them (FLIP-171).

        :raises FatalRequestError: a replacement belongs to another route or has another key
        """
        for index, entry in replacements.items():
            if self.keyed and self._sink.key_of(entry) != self.keys_of(block)[index]:
                raise FatalRequestError("a replacement has another key than its entry; a connector must keep the key")
            if self.routed and self._sink.route_of(entry) != route:
                raise FatalRequestError(
                    f"a replacement has route {self._sink.route_of(entry)!r}, the entry it replaces {route!r}; "
                    "a connector must keep the route"
                )
        return self.make([replacements.get(index, block[index]) for index in range(len(block))])
