"""The one place where blocks of entries are made and split: from writes, restored states and replacements."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock, ListBlock, Routes
from asyncsink.errors import FatalRequestError

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink

Part = tuple[Hashable | None, EntryBlock[Any], Sequence[int] | None]


class BlockMaker:
    """Makes blocks with the sizes and routes that a sink gives its entries."""

    __slots__ = ("_sink", "routed")

    def __init__(self, sink: AsyncSink[Any, Any, Any]) -> None:
        from asyncsink.async_sink import AsyncSink

        self._sink = sink
        self.routed = type(sink).route_of is not AsyncSink.route_of
        """Whether entries have routes at all; most sinks have one destination and skip the question."""

    def make(self, entries: Sequence[Any], sizes: Sequence[int] | None = None) -> ListBlock[Any]:
        """A block of these entries; measured unless their sizes are known."""
        return ListBlock(entries, self._sink.sizes(entries) if sizes is None else sizes, None, self._routes(entries))

    def _routes(self, entries: Sequence[Any]) -> Routes | None:
        if not self.routed:
            return None
        distinct: dict[Hashable | None, int] = {}
        indices = [distinct.setdefault(self._sink.route_of(entry), len(distinct)) for entry in entries]
        return list(distinct), indices

    def split(self, block: EntryBlock[Any], first: int) -> Iterator[Part]:
        """A block by routes, in order of first appearance, with the sequence numbers of each part's entries.

        The sequence numbers are None, and the block is not copied, where all entries have one route.
        """
        if not self.routed:
            yield None, block, None
            return
        routes = block.routes() or self._routes([block[index] for index in range(len(block))])
        assert routes is not None
        places: dict[int, list[int]] = {}
        for index, route in enumerate(routes[1]):
            places.setdefault(int(route), []).append(index)
        for which, indices in places.items():
            if len(indices) == len(block):
                yield routes[0][which], block, None
            else:
                yield routes[0][which], block.take(indices), [first + index for index in indices]

    def size_of(self, entry: Any) -> int:
        return self._sink.size_in_bytes(entry)

    def replaced(
        self, block: EntryBlock[Any], replacements: Mapping[int, Any], route: Hashable | None
    ) -> ListBlock[Any]:
        """A block with some entries replaced by what the destination's answer made of them (FLIP-171).

        :raises FatalRequestError: a replacement belongs to another route
        """
        for entry in replacements.values():
            if self.routed and self._sink.route_of(entry) != route:
                raise FatalRequestError(
                    f"a replacement has route {self._sink.route_of(entry)!r}, the entry it replaces {route!r}; "
                    "a connector must keep the route"
                )
        return self.make([replacements.get(index, block[index]) for index in range(len(block))])
