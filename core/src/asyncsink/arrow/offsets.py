"""Running totals of entry sizes, from which the size of any run is one subtraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_INT32_OFFSETS = (pa.string(), pa.binary())
_INT64_OFFSETS = (pa.large_string(), pa.large_binary())


def offsets_of_sizes(sizes: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The running totals of `sizes`, from 0: one more than there are sizes."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def offsets_of_column(column: pa.Array) -> npt.NDArray[Any]:
    """The offsets of a binary or string column's values, shared with it where it has no nulls. A null counts 0 bytes.

    The first need not be 0: a sliced column starts within its buffer.

    :raises TypeError: the column's type has no offsets; :func:`asyncsink.arrow.normalise` turns views into such
    """
    if column.type in _INT32_OFFSETS:
        kind: type[np.signedinteger[Any]] = np.int32
    elif column.type in _INT64_OFFSETS:
        kind = np.int64
    else:
        raise TypeError(
            f"a column of type {column.type} has no byte offsets; cast it to binary, string or a large form"
        )
    if len(column) == 0:
        return np.zeros(1, dtype=np.int64)
    width = np.dtype(kind).itemsize
    # Arrow's C data interface: a slice keeps its parent's buffers and says in `offset` where it starts.
    shared = np.frombuffer(column.buffers()[1], dtype=kind, count=len(column) + 1, offset=column.offset * width)
    if column.null_count == 0:
        return shared
    # The format allows bytes behind a null, so its offsets cannot be trusted.
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return offsets_of_sizes(np.where(valid, np.diff(shared), 0).astype(np.int64))
