"""The topic and the partition of every row of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from asyncsink.arrow.routes import grouped
from asyncsink_kafka.partitioning.partitioner import Partitioner, Partitions, TopicRows
from asyncsink_kafka.records import Records
from asyncsink_kafka.row_checks import RefusedRow

Known = Mapping[str, tuple[int, Sequence[int]]]
"""Of each topic the number of partitions, and which of them have a leader."""

UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


class Routed(NamedTuple):
    """Where the rows of a run go.

    :param slots: of each row the index of its target; -1 where it is refused
    :param targets: the topics and partitions that occur, each once: topics as they appear, partitions in order
    :param refused: the rows that go nowhere, in order
    """

    slots: NDArray[np.int32]
    targets: list[tuple[str, int]]
    refused: list[RefusedRow]


def topics_of(records: Records, default: str | None) -> list[str]:
    """The topics that a run's rows name, each once in order of appearance; null stands for `default`."""
    names, _ = _by_topic(records, default)
    return [name for name in names if name is not None] if len(records) else []


def highest_partitions(records: Records, default: str | None) -> dict[str, int]:
    """Of each topic the highest partition that rows name themselves, where any does; null stands for `default`."""
    partitions, own = _own_partitions(records)
    if own is None:
        return {}
    names, topics = _by_topic(records, default)
    highest = np.full(len(names), -1, np.int32)
    if topics is None:
        highest[0] = partitions.max()
    else:
        np.maximum.at(highest, topics, partitions)
    return {name: top for name, top in zip(names, highest.tolist(), strict=True) if name is not None and top >= 0}


def route(records: Records, default_topic: str | None, known: Known, partitioner: Partitioner) -> Routed:
    """The target of every row: its topic or the default one, and its own partition or the partitioner's choice.

    A row is refused if its topic is not in `known`, if its own partition is not one of the topic's, or if the
    partitioner has none for it.

    :raises ConfigurationError: a partitioner of the user's own is at fault as a whole
    """
    names, topics = _by_topic(records, default_topic)
    counts = np.array([0 if name is None or name not in known else known[name][0] for name in names], np.int64)
    partitions, own = _own_partitions(records)
    asked = _asked(names, topics, own, known)
    refused: dict[int, str] = {}
    if asked:
        choice = partitioner.choose(records, asked)
        partitions = choice.partitions if own is None else np.where(own, partitions, choice.partitions)
        refused = choice.refused
    bases = np.cumsum(counts) - counts
    limits, first = (counts[0], bases[0]) if topics is None else (counts[topics], bases[topics])
    good = (partitions >= 0) & (partitions < limits)
    if good.all():
        return Routed(*_compacted(partitions + first, names, counts), [])
    rows = _refusals(np.flatnonzero(~good), names, topics, counts, partitions, refused)
    return Routed(*_compacted(np.where(good, partitions + first, -1), names, counts), rows)


def _by_topic(records: Records, default: str | None) -> tuple[list[str | None], NDArray[np.int64] | None]:
    """The distinct topics, and of each row the index of its own; None for the indices where there is but one topic."""
    coded = records.coded_topics
    if coded is None:
        return [default], None
    found = [default if name is None else name for name in coded.dictionary.to_pylist()] or [default]
    names = [*dict.fromkeys(found)]
    if len(names) == 1:
        return names, None
    indices = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if len(names) < len(found):  # rows name the default topic, and others leave it to the sink
        indices = np.array([names.index(name) for name in found], np.int64)[indices]
    return names, indices


def _own_partitions(records: Records) -> tuple[Partitions, NDArray[np.bool_] | None]:
    """The partitions that rows name themselves, -1 for the others, and which rows do; None if none does."""
    column = records.partition
    if column is None or column.null_count == len(column):
        return np.full(len(records), -1, np.int32), None
    own = column.is_valid().to_numpy(zero_copy_only=False)
    return (pc.fill_null(column, -1) if column.null_count else column).to_numpy(zero_copy_only=False), own


def _asked(
    names: Sequence[str | None], topics: NDArray[np.int64] | None, own: NDArray[np.bool_] | None, known: Known
) -> list[TopicRows]:
    """What the partitioner is to choose, by topic."""
    if topics is None:
        rows = None if own is None else np.flatnonzero(~own)
        parts = [(0, rows)] if rows is None or len(rows) else []
    elif own is None:
        parts = [*grouped(_narrow(topics, len(names)), len(names))]
    else:
        rows = np.flatnonzero(~own)
        parts = [(index, rows[chosen]) for index, chosen in grouped(_narrow(topics[rows], len(names)), len(names))]
    return [
        TopicRows(name, rows, *known[name])
        for name, rows in ((names[index], rows) for index, rows in parts)
        if name is not None and name in known and known[name][0] > 0
    ]


def _narrow(indices: NDArray[np.int64], count: int) -> NDArray[np.unsignedinteger]:
    return indices.astype(np.min_scalar_type(count))


def _compacted(
    wide: NDArray[np.int64], names: Sequence[str | None], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], list[tuple[str, int]]]:
    """Slots of the targets that occur alone: of a topic with thousands of partitions a run may reach a few."""
    rows_of = np.bincount(wide[wide >= 0] if len(wide) and wide.min() < 0 else wide, minlength=int(counts.sum()))
    used = np.flatnonzero(rows_of)
    slot_of = np.full(len(rows_of) + 1, -1, np.int32)  # the last one, which is at -1 too, is of refused rows
    slot_of[used] = np.arange(len(used), dtype=np.int32)
    ends = np.cumsum(counts)
    owners = np.searchsorted(ends, used, side="right")
    partitions = (used - (ends - counts)[owners]).tolist()
    # A topic without a name has no partitions, and none of it occurs.
    targets = [(names[owner] or "", partition) for owner, partition in zip(owners.tolist(), partitions, strict=True)]
    return slot_of[wide], targets


def _refusals(
    rows: NDArray[np.int64],
    names: Sequence[str | None],
    topics: NDArray[np.int64] | None,
    counts: NDArray[np.int64],
    partitions: Partitions,
    refused: Mapping[int, str],
) -> list[RefusedRow]:
    found = []
    for row in rows.tolist():
        topic = 0 if topics is None else int(topics[row])
        if row in refused:
            found.append(RefusedRow(row, "INVALID_PARTITION", refused[row]))
        else:
            message = _unknown(names[topic], int(counts[topic]), int(partitions[row]))
            found.append(RefusedRow(row, UNKNOWN, message))
    return found


def _unknown(topic: str | None, count: int, partition: int) -> str:
    if topic is None:
        return "the record names no topic, and the sink has none either; set the option 'topic'"
    if not count:
        return f"topic {topic!r} is not known to the brokers; create it, or mend the record's topic"
    return (
        f"partition {partition} of topic {topic!r} does not exist: it has {count}, from 0 to {count - 1}; give one of "
        "these, or null for the partitioner's choice"
    )
