"""A block over an Arrow batch: no object per entry until a request asks for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from asyncsink.arrow.offsets import offsets_of_column, offsets_of_sizes
from asyncsink.arrow.routes import ArrayRoutes, checked, grouped
from asyncsink.blocks import EntryBlock, ListBlock, RoutePart, Routes, sizes_of

EntryT = TypeVar("EntryT")

EntryOf = Callable[[pa.RecordBatch, int], EntryT]
"""Makes the entry of one row. It may look at that row's columns only: a row that failed moves to another batch."""


class ArrowBlock(Generic[EntryT]):
    """An :class:`~asyncsink.EntryBlock` over the rows of a record batch, whose entries are made when they are read.

    :param batch: one row an entry
    :param entry_of: makes the entry of a row from the batch and the row's index in it
    :param sizes: bytes of each entry, as the service counts them; an int64 array is taken as it is
    :param keys: the key of each entry, or None
    :param routes: the distinct routes and the index of each entry's own, or None; an array is taken as it is
    :raises ValueError: there is not one size, or one route among the distinct ones, for each row
    """

    __slots__ = ("_batch", "_entry_of", "_keys", "_offsets", "_routes", "_start", "_stop", "_totals")

    def __init__(
        self,
        batch: pa.RecordBatch,
        entry_of: EntryOf[EntryT],
        sizes: Sequence[int] | npt.NDArray[np.int64],
        keys: Sequence[Hashable | None] | None = None,
        routes: Routes | ArrayRoutes | None = None,
    ) -> None:
        if len(sizes) != batch.num_rows:
            raise ValueError(f"an ArrowBlock of {batch.num_rows} rows was given {len(sizes)} sizes; give one for each")
        self._set(batch, entry_of, offsets_of_sizes(sizes), keys, routes, 0, batch.num_rows)

    @classmethod
    def of_column(
        cls,
        batch: pa.RecordBatch,
        column: str | int,
        entry_of: EntryOf[EntryT] | None = None,
        keys: Sequence[Hashable | None] | None = None,
        routes: Routes | ArrayRoutes | None = None,
    ) -> ArrowBlock[EntryT]:
        """A block whose entries are as large as the values of one binary or string column.

        The sizes are read from the column's own offsets, without touching a value. Unless `entry_of` is given an
        entry is the value's bytes, UTF-8 for a string, and None for a null.

        :raises TypeError: the column holds something else than binary or strings with offsets
        """
        values = batch.column(column)
        position = batch.schema.get_field_index(column) if isinstance(column, str) else column
        block: ArrowBlock[EntryT] = cls.__new__(cls)
        made = ValueBytes(position) if entry_of is None else entry_of
        block._set(batch, made, offsets_of_column(values), keys, routes, 0, batch.num_rows)
        return block

    def _set(
        self,
        batch: pa.RecordBatch,
        entry_of: EntryOf[Any],
        offsets: npt.NDArray[Any],
        keys: Sequence[Hashable | None] | None,
        routes: Routes | ArrayRoutes | None,
        start: int,
        stop: int,
    ) -> None:
        self._batch, self._entry_of, self._offsets = batch, entry_of, offsets
        # The same numbers: a memoryview gives one of them as an int in a third of the time.
        self._totals = offsets.data
        self._keys, self._routes = keys, None if routes is None else checked(routes, batch.num_rows)
        self._start, self._stop = start, stop

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows of this block alone, in shared memory, for an encoder that works on columns."""
        return self._batch.slice(self._start, len(self))

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, index: int, /) -> EntryT:
        if not 0 <= index < len(self):
            raise IndexError(f"an ArrowBlock of {len(self)} entries has no index {index}")
        entry: EntryT = self._entry_of(self._batch, self._start + index)
        return entry

    def __iter__(self) -> Iterator[EntryT]:
        batch, entry_of = self._batch, self._entry_of
        if isinstance(entry_of, ValueBytes):
            # 66 ns an entry; 1 200 for one scalar after another.
            return iter(entry_of.run(self.batch))
        return (entry_of(batch, index) for index in range(self._start, self._stop))

    def __repr__(self) -> str:
        return f"<ArrowBlock of {len(self)} entries, {self.size_in_bytes(0, len(self))} bytes>"

    def size_in_bytes(self, start: int, stop: int) -> int:
        totals, base = self._totals, self._start
        size: int = totals[base + stop] - totals[base + start]
        return size

    def oversized(self, limit: int) -> Sequence[int]:
        if self.size_in_bytes(0, len(self)) <= limit:
            return ()
        found: list[int] = np.flatnonzero(self._sizes() > limit).tolist()
        return found

    def slice(self, start: int, stop: int) -> ArrowBlock[EntryT]:
        part: ArrowBlock[EntryT] = ArrowBlock.__new__(ArrowBlock)
        base = self._start
        part._batch, part._entry_of, part._offsets = self._batch, self._entry_of, self._offsets
        part._keys, part._routes, part._totals = self._keys, self._routes, self._totals
        part._start, part._stop = base + start, base + stop
        return part

    def take(self, indices: Sequence[int]) -> ArrowBlock[EntryT]:
        chosen = np.asarray(indices, dtype=np.int64)
        part = self._taken(chosen, self._sizes())
        if self._routes is not None:
            part._routes = self._routes[0], self._routes[1][chosen + self._start]
        return part

    def _taken(self, chosen: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> ArrowBlock[EntryT]:
        """A copy of the entries at `chosen` without their routes."""
        rows = chosen + self._start
        keys = None if self._keys is None else [*map(self._keys.__getitem__, rows.tolist())]
        return ArrowBlock(self._batch.take(pa.array(rows)), self._entry_of, sizes[chosen], keys)

    def split(self, first: int) -> list[RoutePart]:
        """The entries by routes, numbered from `first`: one stable sort, and one copy for each route.

        Of a block with routes only. The parts leave them behind: each has one.
        """
        assert self._routes is not None
        distinct, indices = self._routes[0], self._routes[1][self._start : self._stop]
        groups = grouped(indices, len(distinct))
        if len(groups) < 2:
            return [(distinct[route], self, None) for route, _ in groups]
        sizes = self._sizes()
        # As a memoryview it is a sequence of ints; indexing an array gives objects of numpy's.
        return [(distinct[route], self._taken(chosen, sizes), (chosen + first).data) for route, chosen in groups]

    def keys(self) -> Sequence[Hashable | None] | None:
        return None if self._keys is None else self._keys[self._start : self._stop]

    def routes(self) -> Routes | None:
        if self._routes is None:
            return None
        return self._routes[0], self._routes[1][self._start : self._stop].data

    def _sizes(self) -> npt.NDArray[np.int64]:
        return np.diff(self._offsets[self._start : self._stop + 1]).astype(np.int64, copy=False)

    @staticmethod
    def merged(blocks: Sequence[ArrowBlock[Any]]) -> EntryBlock[Any]:
        """One block of the entries of several, in order. Keys and routes are left behind: a request needs neither.

        Blocks whose rows have different columns, or whose entries are made in different ways, become a ListBlock.
        """
        first = blocks[0]
        alike = all(each._entry_of == first._entry_of and each._batch.schema == first._batch.schema for each in blocks)
        if not alike:
            entries = [entry for block in blocks for entry in block]
            return ListBlock(entries, [size for block in blocks for size in sizes_of(block)])
        table = pa.Table.from_batches([block.batch for block in blocks]).combine_chunks()
        rows = table.to_batches()
        batch = rows[0] if rows else first.batch
        return ArrowBlock(batch, first._entry_of, np.concatenate([block._sizes() for block in blocks]))


class ValueBytes:
    """Makes the bytes of a binary or string column's value, None for a null; equal for equal columns."""

    __slots__ = ("_column",)

    def __init__(self, column: int) -> None:
        self._column = column

    def __call__(self, batch: pa.RecordBatch, index: int) -> Any:
        value = batch.column(self._column)[index].as_buffer()
        return None if value is None else value.to_pybytes()

    def run(self, batch: pa.RecordBatch) -> list[Any]:
        """What calling it for each row gives."""
        values = batch.column(self._column)
        kind = pa.large_binary() if values.type in (pa.large_string(), pa.large_binary()) else pa.binary()
        found: list[Any] = values.cast(kind).to_pylist()
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueBytes) and other._column == self._column

    def __hash__(self) -> int:
        return hash((ValueBytes, self._column))
