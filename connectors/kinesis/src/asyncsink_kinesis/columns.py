"""Entries of whole Arrow batches: columns to columns, and no Python object for a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow import ArrowBlock, normalise
from asyncsink.arrow.json_rows import valid_text
from asyncsink_kinesis.aggregation.sizes import HASH_TAGS, LARGE_TAGS, SMALL, SMALL_TAGS
from asyncsink_kinesis.entry import KinesisEntry
from asyncsink_kinesis.partition_keys import (
    HASH_KEY_PATTERN,
    MAX_HASH_KEY,
    MAX_KEY_LENGTH,
    hash_key_error,
    key_length_error,
    key_type_error,
    missing_error,
)

DATA, KEY, HASH_KEY = 0, 1, 2
"""Places of a record's parts in the batch of a block; a block without hash keys lacks the last."""

_NAMES = ("data", "partition_key", "explicit_hash_key")
_TEXT = pa.string()
_KEY_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_decimal,
)
"""What makes a partition key; Spark's columns have been held against that when the query was planned."""


def records_block(
    data: Any, keys: Any, hash_keys: Any | None, routes: Any = None, *, frame_bytes: int | None = None
) -> ArrowBlock[KinesisEntry]:
    """A block of records, measured as the service does: payload and partition key.

    :param routes: of the records, as :class:`~asyncsink.arrow.ArrowBlock` takes them
    :param frame_bytes: measure what they cost in an aggregated record of at most so many bytes
    """
    columns = [data, keys] if hash_keys is None else [data, keys, hash_keys]
    batch = pa.RecordBatch.from_arrays(columns, names=list(_NAMES[: len(columns)]))
    sizes: npt.NDArray[np.int64] = np.add(_lengths(data), _lengths(keys), dtype=np.int64)
    if frame_bytes is not None:
        sizes += np.where(sizes > frame_bytes, 0, _tags(data, hash_keys))
    return ArrowBlock(batch, entry_of, sizes, ColumnKeys(keys), routes)


def _tags(data: Any, hash_keys: Any | None) -> npt.NDArray[np.int64]:
    """What :func:`~asyncsink_kinesis.aggregation.sizes.row_size` counts beside payload and partition key."""
    tags = np.where(_lengths(data) < SMALL, SMALL_TAGS, LARGE_TAGS).astype(np.int64)
    if hash_keys is None:
        return tags
    hashed: npt.NDArray[np.int32] = pc.fill_null(pc.add(pc.binary_length(hash_keys), HASH_TAGS), 0).to_numpy()
    return np.add(tags, hashed, dtype=np.int64)


def _lengths(values: Any) -> npt.NDArray[Any]:
    lengths: npt.NDArray[Any] = pc.binary_length(values).to_numpy(zero_copy_only=False)
    return lengths


def entry_of(batch: pa.RecordBatch, index: int) -> KinesisEntry:
    """The entry of one row of a block."""
    return KinesisEntry(*(column[index].as_py() for column in batch.columns))


class ColumnKeys(Sequence[str]):
    """The keys of a block as a sequence that is made of their column when it is first asked for: most never are."""

    __slots__ = ("_column", "_texts")

    def __init__(self, column: Any) -> None:
        self._column = column
        self._texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, index: Any) -> Any:
        if self._texts is None:
            self._texts = self._column.to_pylist()
        return self._texts[index]


def random_keys(prefix: str, first: int, count: int) -> Any:
    """``<prefix><sequence>`` of `count` rows, the first of which has the sequence `first`."""
    sequences = pa.array(np.arange(first, first + count)).cast(_TEXT)
    return pc.binary_join_element_wise(pa.scalar(prefix), sequences, pa.scalar(""))


def fixed_keys(key: str, count: int) -> Any:
    """The same key for each of `count` rows."""
    return pa.repeat(pa.scalar(key), count)


def keys_of_column(batch: pa.RecordBatch, name: str) -> Any:
    """The values of a column as partition keys.

    :raises TypeError: the column is of a type whose text is not certain, such as a float
    :raises ValueError: one is null, empty or too long; names column and row
    """
    return _checked(_text(batch, name), f"column {name!r}")


def joined_keys(batch: pa.RecordBatch, names: Sequence[str], delimiter: str, described: str) -> Any:
    """The values of several columns, joined, as partition keys; raises as :func:`keys_of_column` does."""
    texts = [_text(batch, name) for name in names]
    joined = pc.binary_join_element_wise(*texts, pa.scalar(delimiter)) if len(texts) > 1 else texts[0]
    return _checked(joined, described)


def hash_keys_of_column(batch: pa.RecordBatch, name: str) -> Any:
    """The values of a column as explicit hash keys; null where a row has none.

    :raises ValueError: one is no number from 0 to 2^128-1; names column and row
    """
    values = normalise(batch).column(name)
    if pa.types.is_floating(values.type):
        raise ValueError(hash_key_error(f"column {name!r}"))
    texts = values.cast(_TEXT)
    fits = pc.match_substring_regex(texts, HASH_KEY_PATTERN)
    small = pc.or_(pc.less(pc.binary_length(texts), len(MAX_HASH_KEY)), pc.less_equal(texts, MAX_HASH_KEY))
    if (row := _first(pc.invert(pc.and_(fits, small)))) is not None:
        raise ValueError(f"{hash_key_error(f'column {name!r}')} (row {row} of {len(texts)})")
    return texts


def _text(batch: pa.RecordBatch, name: str) -> Any:
    if name not in batch.schema.names:
        raise ValueError(missing_error(name))
    values = normalise(batch).column(name)
    if values.null_count:
        row = _first(values.is_null())
        raise ValueError(
            f"column {name!r} is null in row {row} of {len(values)}; the partition key is made of it: fill it in"
        )
    if not any(matches(values.type) for matches in _KEY_TYPES):
        raise TypeError(key_type_error(f"column {name!r}", str(values.type)))
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return valid_text(values).cast(_TEXT)
    if pa.types.is_decimal(values.type):  # Arrow writes small ones as 1E-7
        return pa.array([format(value, "f") for value in values.to_pylist()], _TEXT)
    return values.cast(_TEXT)


def _checked(keys: Any, described: str) -> Any:
    lengths = pc.utf8_length(keys)
    wrong = pc.or_(pc.equal(lengths, 0), pc.greater(lengths, MAX_KEY_LENGTH))
    if (row := _first(wrong)) is not None:
        raise ValueError(f"{key_length_error(described, lengths[row].as_py())} (row {row} of {len(keys)})")
    return keys


def _first(wrong: Any) -> int | None:
    """The first place that is true; a null is not."""
    place: int = pc.index(wrong, True).as_py()
    return None if place < 0 else place
