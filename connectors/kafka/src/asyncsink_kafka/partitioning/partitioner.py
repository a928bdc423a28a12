"""What chooses the partitions of records, one topic or all topics of a run at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from asyncsink.errors import ConfigurationError

if TYPE_CHECKING:
    from asyncsink_kafka.records import Records

Partitions = NDArray[np.int32]


class TopicRows(NamedTuple):
    """The records of a run that go to one topic and leave their partition to the partitioner.

    :param rows: their places in the run, in order; None: all of it
    :param partitions: how many partitions the topic has
    :param available: those of them that have a leader
    """

    topic: str
    rows: NDArray[np.int64] | None
    partitions: int
    available: Sequence[int]


class Choice(NamedTuple):
    """The partition of each record of a run, -1 where there is none, and why there is none."""

    partitions: Partitions
    refused: dict[int, str]


class Partitioner(ABC):
    """Chooses partitions; each writer has one of its own, which may remember what it chose.

    One of your own defines :meth:`partition_many`. It is made without arguments where the writer runs.
    """

    def open(self, writer_id: int, writers: int | None) -> None:  # noqa: B027 - few need it
        """Called once before all else: the number of this writer, and how many there are, if that is known."""

    @abstractmethod
    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> Any:
        """The partition of each record, from 0 to before `partitions`, as an array or a sequence of int.

        :param records: those that go to `topic` and name no partition themselves
        :param available: the partitions that have a leader; may be empty
        """

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    def choose(self, records: Records, topics: Sequence[TopicRows]) -> Choice:
        """The partitions of a whole run. A partition that a topic does not have refuses its record.

        :raises ConfigurationError: :meth:`partition_many` raised, or did not return one whole number a record
        """
        chosen, refused = unchosen(len(records)), {}
        for each in topics:
            found = self._checked(each, records if each.rows is None else records.take(each.rows))
            wrong = np.flatnonzero((found < 0) | (found >= each.partitions)).tolist()
            for index, row in zip(wrong, places(each, wrong), strict=True):
                refused[row] = outside(self.name, each, int(found[index]))
            found[wrong] = -1
            chosen[slice(None) if each.rows is None else each.rows] = found
        return Choice(chosen, refused)

    def _checked(self, each: TopicRows, records: Records) -> NDArray[np.int64]:
        try:
            found = np.asarray(self.partition_many(each.topic, records, each.partitions, each.available))
        except Exception as error:
            raise ConfigurationError(
                f"partitioner {self.name!r} failed for topic {each.topic!r}: {type(error).__name__}: {error}"
            ) from error
        if found.shape != (len(records),) or (len(records) and found.dtype.kind not in "iu"):
            raise ConfigurationError(
                f"partitioner {self.name!r} returned {found.dtype} of shape {found.shape} for {len(records)} records "
                f"of topic {each.topic!r}; return one whole number for each"
            )
        return found.astype(np.int64)


class BuiltIn(Partitioner):
    """One that reads what it needs of a run once, a number a record, whatever the number of topics."""

    @abstractmethod
    def prepare(self, records: Records) -> NDArray[Any]:
        """A number for each record, from which alone :meth:`assign` chooses."""

    @abstractmethod
    def assign(self, topic: str, prepared: NDArray[Any], partitions: int, available: Sequence[int]) -> NDArray[Any]:
        """The partition of each record of one topic."""

    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> Partitions:
        return self.assign(topic, self.prepare(records), partitions, available).astype(np.int32, copy=False)

    def choose(self, records: Records, topics: Sequence[TopicRows]) -> Choice:
        prepared, chosen = self.prepare(records), unchosen(len(records))
        for topic, rows, partitions, available in topics:
            where = slice(None) if rows is None else rows
            chosen[where] = self.assign(topic, prepared[where], partitions, available)
        return Choice(chosen, {})


def unchosen(count: int) -> Partitions:
    """No partition yet for so many records."""
    return np.full(count, -1, np.int32)


def places(each: TopicRows, indices: Sequence[int]) -> Iterator[int]:
    """Where in its run a topic's records with these indices are."""
    return iter(indices) if each.rows is None else iter(each.rows[indices].tolist())


def outside(name: str, each: TopicRows, partition: int) -> str:
    """What to say of a partition that the topic does not have."""
    return (
        f"partitioner {name!r} chose partition {partition} of topic {each.topic!r}, whose partitions are 0 to "
        f"{each.partitions - 1}; let it return one of these"
    )
