"""What is wrong with a row by itself, found before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from asyncsink_kafka.options.topic_names import is_topic_name
from asyncsink_kafka.records import Records


class RefusedRow(NamedTuple):
    """A row that cannot be sent.

    :param index: its place in the run
    :param code: Kafka's own name of the error where it has one
    :param message: what is wrong, and the remedy; shows no payload
    """

    index: int  # type: ignore[assignment]  # a row's place matters more than tuple.index
    code: str
    message: str


INVALID_TOPIC: Final = "INVALID_TOPIC_EXCEPTION"
NOT_ALLOWED: Final = "TOPIC_NOT_ALLOWED"

_SHOWN: Final = 100


def check_rows(
    records: Records,
    sizes: NDArray[np.int64] | None,
    *,
    default_topic: str | None,
    allowed: Callable[[str], bool] | None,
    max_record_bytes: int,
) -> list[RefusedRow]:
    """The rows that neither broker nor client would take, each with the first thing that is wrong; in order.

    :param sizes: bytes of each record, as ``max_record_bytes`` counts them; None where none has more
    :param default_topic: the topic of rows that name none
    :param allowed: whether rows may go to a topic; None allows all
    """
    found: dict[int, RefusedRow] = {}
    for check in (
        _topics(records, default_topic, allowed),
        _partitions(records),
        _timestamps(records),
        _headers(records),
        _sizes(sizes, max_record_bytes),
    ):
        for each in check:
            found.setdefault(each.index, each)
    return [found[index] for index in sorted(found)]


def topic_fault(topic: str | None, allowed: Callable[[str], bool] | None = None) -> tuple[str, str] | None:
    """Code and message of what is wrong with a topic's name; None if nothing is."""
    if topic is None:
        return INVALID_TOPIC, (
            "the record's topic is null, and the sink has none either; set the option 'topic', or filter such rows out"
        )
    if not is_topic_name(topic):
        shown = topic if len(topic) <= _SHOWN else f"{topic[:_SHOWN]}..."
        return INVALID_TOPIC, (
            f"{shown!r} of {len(topic)} characters is no name of a topic; it has 1 to 249 of the ASCII letters, digits "
            "and '.', '_', '-', and is neither '.' nor '..'"
        )
    if allowed is not None and not allowed(topic):
        return (
            NOT_ALLOWED,
            f"topic {topic!r} is not among those that the options 'topics' and 'topicPattern' allow; add it there",
        )
    return None


def _topics(records: Records, default: str | None, allowed: Callable[[str], bool] | None) -> Iterator[RefusedRow]:
    coded = records.coded_topics
    names = [None] if coded is None else coded.dictionary.to_pylist()
    for number, name in enumerate(names):
        fault = topic_fault(default if name is None else name, allowed)
        if fault is not None:
            rows = range(len(records)) if coded is None else _rows(pc.equal(coded.indices, number))
            yield from (RefusedRow(row, *fault) for row in rows)


def _partitions(records: Records) -> Iterator[RefusedRow]:
    column = records.partition
    if column is None:
        return
    for row in _negative(column):
        told = f"partition {column[row].as_py()} is negative; give one of the topic's, or null"
        yield RefusedRow(row, "UNKNOWN_TOPIC_OR_PARTITION", f"{told} for the partitioner's choice")


def _timestamps(records: Records) -> Iterator[RefusedRow]:
    column = records.timestamp
    if column is None:
        return
    for row in _negative(column):
        yield RefusedRow(
            row,
            "INVALID_TIMESTAMP",
            f"timestamp {column[row].as_py()} ms is before 1970; give a later one, or null for the present",
        )


def _headers(records: Records) -> Iterator[RefusedRow]:
    lists = records.headers
    if lists is None:
        return
    names = pc.struct_field(lists.flatten(), [0])
    if not names.null_count:
        return
    # Arrow's own list_parent_indices also counts what a null list may hide, which is not among the names.
    owners = np.repeat(np.arange(len(lists)), pc.fill_null(pc.list_value_length(lists), 0))
    for row in np.unique(owners[names.is_null()]).tolist():
        yield RefusedRow(
            row, "INVALID_RECORD", "a header is null or has no key, which Kafka does not take; filter such headers out"
        )


def _sizes(sizes: NDArray[np.int64] | None, limit: int) -> Iterator[RefusedRow]:
    if sizes is None or not len(sizes) or sizes.max() <= limit:
        return
    for row in np.flatnonzero(sizes > limit).tolist():
        yield RefusedRow(
            row,
            "MESSAGE_TOO_LARGE",
            f"the record takes {int(sizes[row])} bytes, more than maxRecordSizeInBytes (max.request.size) = {limit}; "
            "make it smaller, or raise that and the topic's max.message.bytes",
        )


def _negative(column: pa.Array) -> list[int]:
    least = pc.min(column).as_py()
    return [] if least is None or least >= 0 else _rows(pc.less(column, 0))


def _rows(mask: pa.Array) -> list[int]:
    rows: list[int] = pc.indices_nonzero(mask.fill_null(False)).to_pylist()
    return rows
