"""Partitioners as users bring them, good and bad ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncsink_kafka.partitioning import Partitioner
from asyncsink_kafka.records import Records


class ByFirstByte:
    """Of one record; remembers how it was opened."""

    opened: tuple[int, int | None] | None = None

    def open(self, writer_id: int, writers: int | None) -> None:
        self.opened = writer_id, writers

    def partition(self, topic: str, key: bytes | None, value: bytes | None, partitions: int) -> int:
        return (key or b"\0")[0] % partitions


class Picky:
    """Chooses what the value says, whatever that is."""

    def partition(self, topic: str, key: bytes | None, value: bytes | None, partitions: int) -> Any:
        if value == b"raise":
            raise LookupError("no rule for it")
        if value == b"half":
            return 0.5
        return int(value or b"0")


def by_topic(topic: str, key: bytes | None, value: bytes | None, partitions: int) -> int:
    return len(topic) % partitions


class Last(Partitioner):
    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> Any:
        return np.full(len(records), partitions - 1)


class Lengths:
    """Is no Partitioner by its class."""

    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> list[int]:
        return [len(value) for value in records.value.to_pylist()]


class TooFew(Partitioner):
    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> list[int]:
        return [0]


class Fractions(Partitioner):
    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> list[float]:
        return [0.0] * len(records)


class Broken(Partitioner):
    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> list[int]:
        raise RuntimeError("the table of customers is not there")


class NeedsArguments:
    def __init__(self, table: str) -> None:
        self.table = table


class Nothing:
    pass


NUMBER = 7
