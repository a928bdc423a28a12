"""Rows on their way to Kafka, as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from asyncsink_kafka.memory import POOL
from asyncsink_kafka.record import KafkaRecord

HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
"""The type in which headers are made; others like it are taken as well."""

MOST_OFFSET: Final = 2**31 - 1
"""The bytes that a column with 32-bit offsets can hold."""


class Fields(Protocol):
    """What a record is made of; :class:`KafkaRecord` has it, and what other sinks have in its place."""

    @property
    def value(self) -> bytes | None: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def headers(self) -> tuple[tuple[str | None, bytes | None], ...]: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def timestamp(self) -> int | None: ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Records:
    """A run of records as Arrow columns of one length; a column that is None costs nothing.

    :param value: binary or large_binary; null is a tombstone
    :param sequence: each record's position among the elements of its writer
    :param key: binary or large_binary; None: every key is null
    :param headers: list or large_list of struct<key: string, value: binary>, where a null list has no headers; None:
        no record has any
    :param topic: string; null: the sink's one topic
    :param partition: int32; null: the partitioner's choice
    :param timestamp: int64, ms since the epoch; null: the time at which it is sent

    :raises TypeError: a column is of another type
    :raises ValueError: a column is of another length
    """

    value: pa.Array
    sequence: NDArray[np.int64]
    key: pa.Array | None = None
    headers: pa.Array | None = None
    topic: pa.Array | None = None
    partition: pa.Array | None = None
    timestamp: pa.Array | None = None
    _coded_topics: pa.DictionaryArray | None = field(default=None, init=False, repr=False)
    _nbytes: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        length = len(self.value)
        for name, column in self._columns().items():
            wanted, fits = _TYPES[name]
            if not fits(column.type):
                raise TypeError(f"the column {name} of records is {column.type}; it must be {wanted}")
            if len(column) != length:
                raise ValueError(f"the column {name} of records has {len(column)} rows and value {length}")
        if len(self.sequence) != length:
            raise ValueError(f"records have {len(self.sequence)} sequence numbers and {length} values")

    @classmethod
    def of(cls, records: Sequence[Fields], sequence: int | Sequence[int] | NDArray[np.int64] = 0) -> Records:
        """The columns of these records.

        :param sequence: the first one's, from which the others count on, or each one's
        :raises ValueError: a partition needs more than 32 bits, or a timestamp more than 64
        """
        if isinstance(sequence, int):
            sequence = np.arange(sequence, sequence + len(records), dtype=np.int64)
        columns = {name: [getattr(record, name) for record in records] for name in _TYPES}
        columns["headers"] = [[*headers] if headers else None for headers in columns["headers"]]
        value = _binary_column(columns.pop("value"))
        arrays = {name: _MAKERS[name](column) for name, column in columns.items() if any(x is not None for x in column)}
        return cls(value=value, sequence=np.asarray(sequence, np.int64), **arrays)

    @staticmethod
    def concat(many: Sequence[Records]) -> Records:
        """One run of several, in their order.

        :raises ValueError: there are none
        """
        if not many:
            raise ValueError("there are no records to put together")
        if len(many) == 1:
            return many[0]
        names = {name: None for each in many for name in each._columns()}
        columns = {name: _joined(name, many) for name in names}
        records = Records(sequence=np.concatenate([each.sequence for each in many]), **columns)
        if (coded := _joined_codes(many)) is not None:
            object.__setattr__(records, "_coded_topics", coded)
        return records

    def __len__(self) -> int:
        return len(self.sequence)

    @property
    def nbytes(self) -> int:
        """The bytes of the columns, with their offsets; added up once, since Arrow takes its time for a slice."""
        total = self._nbytes
        if total is None:
            total = sum((column.nbytes for column in self._columns().values()), self.sequence.nbytes)
            object.__setattr__(self, "_nbytes", total)
        return total

    @property
    def coded_topics(self) -> pa.DictionaryArray | None:
        """The column topic as numbers of its distinct values, a null among them; made once for all who look at it."""
        if self._coded_topics is None and self.topic is not None:
            object.__setattr__(self, "_coded_topics", self.topic.dictionary_encode(null_encoding="encode"))
        return self._coded_topics

    def with_topics(self, names: Sequence[str], indices: Sequence[int] | NDArray[np.integer[Any]]) -> Records:
        """The same records, each with one of these topics, every one of which some record must have."""
        codes, distinct = pa.array(np.asarray(indices, np.int32)), pa.array(names, pa.string())
        records = replace(self, topic=pc.take(distinct, codes, memory_pool=POOL))
        object.__setattr__(records, "_coded_topics", pa.DictionaryArray.from_arrays(codes, distinct))
        return records

    def take(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> Records:
        """The records at these places, in this order; copied."""
        places = np.asarray(indices, np.int64)
        chosen = pa.array(places)
        columns = {name: pc.take(column, chosen, memory_pool=POOL) for name, column in self._columns().items()}
        return replace(self, sequence=self.sequence[places], **columns)

    def slice(self, start: int, stop: int) -> Records:
        """The records from `start` up to `stop`; they share memory with these."""
        columns = {name: column.slice(start, stop - start) for name, column in self._columns().items()}
        records = replace(self, sequence=self.sequence[start:stop], **columns)
        coded = self._coded_topics
        if coded is not None and len(coded.dictionary) == 1 and len(records):
            # Of several topics a slice may lack some. To find the only one again costs half as much as hashing keys.
            object.__setattr__(records, "_coded_topics", coded.slice(start, stop - start))
        return records

    def record(self, index: int) -> KafkaRecord:
        """One of them, as a program would write it."""
        columns = {name: column[index].as_py() for name, column in self._columns().items()}
        headers = tuple(
            (None, None) if header is None else (header["key"], header["value"])
            for header in columns.pop("headers", None) or ()
        )
        return KafkaRecord(headers=headers, **columns)

    def _columns(self) -> dict[str, pa.Array]:
        return {name: column for name in _TYPES if (column := getattr(self, name)) is not None}


def _is_binary(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary())


def _is_headers(kind: pa.DataType) -> bool:
    # By parts: Arrow's types also differ by what the list's inner field is called and whether it may be null.
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    header = kind.value_type
    if not pa.types.is_struct(header) or [field.name for field in header] != ["key", "value"]:
        return False
    key, value = header[0].type, header[1].type
    return key in (pa.string(), pa.large_string()) and _is_binary(value)


_TYPES: Final[Mapping[str, tuple[str, Callable[[pa.DataType], bool]]]] = {
    "value": ("binary or large_binary", _is_binary),
    "key": ("binary or large_binary", _is_binary),
    "headers": ("list<struct<key: string, value: binary>>", _is_headers),
    "topic": ("string", pa.types.is_string),
    "partition": ("int32", pa.types.is_int32),
    "timestamp": ("int64", pa.types.is_int64),
}
"""What a column must be, by its name."""


def _binary_column(values: Sequence[bytes | None]) -> pa.Array:
    size = sum(map(len, filter(None, values)))
    return pa.array(values, pa.large_binary() if size > MOST_OFFSET else pa.binary())


_MAKERS: Final[Mapping[str, Callable[[Sequence[Any]], pa.Array]]] = {
    "key": _binary_column,
    "headers": lambda lists: pa.array(lists, HEADERS),
    "topic": lambda names: pa.array(names, pa.string()),
    "partition": lambda numbers: pa.array(numbers, pa.int32()),
    "timestamp": lambda times: pa.array(times, pa.int64()),
}
"""How the columns that may be missing are made of Python's values."""


def _joined(name: str, many: Sequence[Records]) -> pa.Array:
    """One column of several runs; nulls where a run does not have it."""
    columns = [getattr(each, name) for each in many]
    kind = _common_type(column for column in columns if column is not None)
    alike = (
        pa.nulls(len(each), kind) if column is None else column if column.type == kind else column.cast(kind)
        for each, column in zip(many, columns, strict=True)
    )
    return pa.concat_arrays(alike, memory_pool=POOL)


def _joined_codes(many: Sequence[Records]) -> pa.DictionaryArray | None:
    """The topics of several runs as numbers, where those of each are known: to find them again costs much more."""
    found: dict[str | None, int] = {}
    codes: list[NDArray[np.int32]] = []
    for each in many:
        coded = each._coded_topics
        if coded is None:
            return None
        numbers = [found.setdefault(name, len(found)) for name in coded.dictionary.to_pylist()]
        codes.append(np.array(numbers, np.int32)[coded.indices.to_numpy()])
    return pa.DictionaryArray.from_arrays(pa.array(np.concatenate(codes)), pa.array([*found], pa.string()))


def _common_type(columns: Iterable[pa.Array]) -> pa.DataType:
    present = [*columns]
    first = present[0].type
    if not _is_binary(first):
        return first
    # Of a column with 32-bit offsets Arrow cannot make one that is larger than these reach.
    large = any(pa.types.is_large_binary(column.type) for column in present)
    return pa.large_binary() if large or sum(column.nbytes for column in present) > MOST_OFFSET else pa.binary()
