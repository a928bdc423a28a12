"""A user's own partitioner, one record at a time or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink_kafka.partitioning.partitioner import Choice, Partitioner, TopicRows, outside, places, unchosen

if TYPE_CHECKING:
    from asyncsink_kafka.records import Records

PartitionOf = Callable[[str, bytes | None, bytes | None, int], int]
"""``partition(topic, key, value, partitions)``: the partition of one record."""

_WANTED: Final = (
    "define partition(topic, key, value, partitions), or derive the class from asyncsink_kafka.partitioning.Partitioner"
)


class ByRecord(Partitioner):
    """Asks `partition` for one record after another. What it raises refuses that record alone."""

    def __init__(self, path: str, partition: PartitionOf, opened: Any = None) -> None:
        self._path, self._partition, self._opened = path, partition, opened

    @property
    def name(self) -> str:
        return self._path

    def open(self, writer_id: int, writers: int | None) -> None:
        _open(self._opened, writer_id, writers)

    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> Any:
        return self.choose(records, [TopicRows(topic, None, partitions, available)]).partitions

    def choose(self, records: Records, topics: Sequence[TopicRows]) -> Choice:
        choice = Choice(unchosen(len(records)), {})
        for each in topics:
            self._choose(each, records if each.rows is None else records.take(each.rows), choice)
        return choice

    def _choose(self, each: TopicRows, records: Records, choice: Choice) -> None:
        keys = [None] * len(records) if records.key is None else records.key.to_pylist()
        for row, key, value in zip(places(each, range(len(records))), keys, records.value.to_pylist(), strict=True):
            try:
                found = index(self._partition(each.topic, key, value, each.partitions))
            except Exception as error:
                choice.refused[row] = f"partitioner {self.name!r} failed: {type(error).__name__}: {error}"
                continue
            if 0 <= found < each.partitions:
                choice.partitions[row] = found
            else:
                choice.refused[row] = outside(self.name, each, found)


class ByColumns(Partitioner):
    """Calls the ``partition_many`` of an object that is no :class:`Partitioner` by its class."""

    def __init__(self, path: str, inner: Any) -> None:
        self._path, self._inner = path, inner

    @property
    def name(self) -> str:
        return self._path

    def open(self, writer_id: int, writers: int | None) -> None:
        _open(self._inner, writer_id, writers)

    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> Any:
        return self._inner.partition_many(topic, records, partitions, available)


def load_partitioner(path: str) -> Partitioner:
    """The partitioner that ``"package.module:Name"`` names: a class, made without arguments, or a function.

    :raises ConfigurationError: it does not load, cannot be made, or has no method that chooses partitions
    """
    found = load_given("option 'partitioner' =", path)
    made = _made(path, found) if isinstance(found, type) else found
    if isinstance(made, Partitioner):
        return made
    if callable(getattr(made, "partition_many", None)):
        return ByColumns(path, made)
    if callable(partition := getattr(made, "partition", None)):
        return ByRecord(path, partition, made)
    if callable(made):
        return ByRecord(path, made)
    raise ConfigurationError(f"option 'partitioner' = {path!r} names no partitioner; {_WANTED}")


def _made(path: str, found: type) -> Any:
    try:
        return found()
    except Exception as error:
        raise ConfigurationError(
            f"option 'partitioner' = {path!r} cannot be made: {type(error).__name__}: {error}; its class must need no "
            "arguments and define partition or partition_many"
        ) from error


def _open(inner: Any, writer_id: int, writers: int | None) -> None:
    if callable(opening := getattr(inner, "open", None)):
        opening(writer_id, writers)
