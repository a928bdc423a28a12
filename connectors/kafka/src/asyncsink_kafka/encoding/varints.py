"""Protocol Buffers' variable-length integers, for a whole column at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LARGE_BINARY = pa.large_binary()
_SEVEN_BITS = np.uint8(127)

Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]


def zigzag(numbers: Int64s) -> UInt64s:
    """0, -1, 1, -2 as 0, 1, 2, 3: small numbers of either sign stay small."""
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def doubled(lengths: Int64s) -> UInt64s:
    """:func:`zigzag` of numbers none of which is negative."""
    return (lengths << 1).view(np.uint64)


def widths(numbers: UInt64s) -> NDArray[np.uint8]:
    """How many bytes each of them takes, 1 to 10."""
    result = np.ones(len(numbers), np.uint8)
    most = int(numbers.max(initial=0)) >> 7
    bits = 7
    while most:
        result += numbers >= np.uint64(1 << bits)
        most >>= 7
        bits += 7
    return result


def packed(fields: Sequence[UInt64s | int]) -> pa.Array:
    """One binary value a row: the row's fields one behind the other.

    :param fields: columns of numbers to be written as varints, at least one, and bytes that are the same in every row
    """
    count = next(len(field) for field in fields if not isinstance(field, int))
    sizes = [1 if isinstance(field, int) else widths(field) for field in fields]
    room = [1 if isinstance(size, int) else int(size.max(initial=1)) for size in sizes]
    # Each row gets as much room as the widest; a mask then takes out what is filled.
    cells = np.zeros((count, sum(room)), np.uint8)
    filled = np.ones(cells.shape, bool)
    place = 0
    for field, size, most in zip(fields, sizes, room, strict=True):
        if most == 1:
            cells[:, place] = field
        else:
            _spread(field, size, cells[:, place : place + most], filled[:, place : place + most])  # type: ignore[arg-type]
        place += most
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(sum(sizes), out=offsets[1:])
    data = cells.ravel() if offsets[-1] == cells.size else cells[filled]
    return binary_array(offsets, pa.py_buffer(data))


def _spread(numbers: UInt64s, size: NDArray[np.uint8], cells: NDArray[np.uint8], filled: NDArray[np.bool_]) -> None:
    """Write each number into its row of `cells`, seven bits a byte; every byte but the last has the top bit set."""
    last = cells.shape[1] - 1
    for place in range(last + 1):
        seven = (numbers >> np.uint64(7 * place) if place else numbers).astype(np.uint8)
        if place < last:
            more = size > place + 1
            seven &= _SEVEN_BITS
            seven |= more.view(np.uint8) << 7
            filled[:, place + 1] = more
        cells[:, place] = seven


def binary_array(offsets: Int64s, data: pa.Buffer) -> pa.Array:
    """The large_binary column with these offsets into `data`, without nulls."""
    return pa.Array.from_buffers(LARGE_BINARY, len(offsets) - 1, [None, pa.py_buffer(offsets), data], 0)
