"""Which rows of a request share a record."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncsink.blocks import EntryBlock, fitting
from asyncsink_firehose.limits import MAX_RECORDS

if TYPE_CHECKING:
    from collections.abc import Sequence


class Packing(NamedTuple):
    """How large a packed record becomes.

    :param max_bytes: of a record; a row that is larger goes alone
    :param max_rows: of a record
    """

    max_bytes: int
    max_rows: int

    def cuts(self, block: EntryBlock[bytes]) -> list[int]:
        """Where records begin among the rows of a block, and where the last one ends.

        Rows stay in order, and each record takes as many as fit. It depends on nothing but the rows, so that a request
        that is sent again is made of the same records.
        """
        count, cuts = len(block), [0]
        while (start := cuts[-1]) < count:
            stop = fitting(block, start, min(start + self.max_rows, count), self.max_bytes)
            cuts.append(max(stop, start + 1))
        return cuts

    def most_records(self, max_rows: int, max_bytes: int) -> int:
        """An upper bound of the records of a request of so many rows and bytes.

        A record is closed by its rows, which happens once for each :attr:`max_rows`, or since the next row did not
        fit: then it and the next record have more than :attr:`max_bytes` together, and no byte counts in more than two
        such pairs. The last record may be closed by nothing.
        """
        by_bytes = -(-2 * max_bytes // self.max_bytes)
        return min(max_rows, max_rows // self.max_rows + by_bytes + 1)

    def largest_request(self, max_rows: int) -> int:
        """The most bytes of a request for which :meth:`most_records` is within the service's limit; 0 for none."""
        left = MAX_RECORDS - 1 - max_rows // self.max_rows
        return max(0, left * self.max_bytes // 2)


def records_of(block: EntryBlock[bytes], cuts: Sequence[int]) -> list[bytes | memoryview]:
    """The records that lie between the cuts, each as its rows one after another.

    Rows in an Arrow column lie so in memory already: their records are views of it, and no row becomes an object.
    """
    values = _contiguous(block)
    if values is None:
        rows = list(block)
        return [b"".join(rows[start:stop]) for start, stop in pairwise(cuts)]
    ends = [block.size_in_bytes(0, cut) for cut in cuts]
    return [values[start:stop] for start, stop in pairwise(ends)]


def _contiguous(block: Any) -> memoryview | None:
    """The rows of a block as they lie in memory, from the first to the last; None where they do not lie so."""
    batch = getattr(block, "batch", None)
    if batch is None:
        return None
    from asyncsink_firehose.columns import contiguous_rows

    return contiguous_rows(batch)
