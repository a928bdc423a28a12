"""Rows that are accepted and not encoded yet."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records
from asyncsink_kafka.writer.books import Books

AT_ONCE: Final = 4 * 1024 * 1024
"""The most bytes of rows that are encoded in one go: some milliseconds of the event loop's time."""

WELL_FILLED: Final = 7 / 8
"""Share of a portion that needs no part of the next run."""

TAIL_RECORDS: Final = 2000
"""Records that are written one by one before they become columns."""


class Pile:
    """Columns of rows in order, and an open tail of records that were written one by one.

    :ivar first_s: when the oldest row came, on the loop's clock
    :ivar portion: bytes, about, that are taken at once
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self._records: deque[Records] = deque()
        self._tail: list[KafkaRecord] = []
        self._tail_sequences: list[int] = []
        self._tail_bytes = 0
        self.size_in_bytes = 0
        self.first_s = 0.0
        self.portion = AT_ONCE

    @property
    def is_empty(self) -> bool:
        return not self._records and not self._tail

    @property
    def is_full(self) -> bool:
        """Whether a whole portion is there."""
        return self.size_in_bytes >= self.portion

    def add(self, records: Records) -> None:
        """Accept rows."""
        self._close_tail()
        self._begin()
        size_in_bytes = records.nbytes
        self._books.accept(len(records), size_in_bytes)
        self._records.append(records)
        self.size_in_bytes += size_in_bytes

    def append(self, record: KafkaRecord, sequence: int, size_in_bytes: int) -> None:
        """Accept one record."""
        self._begin()
        self._books.accept(1, size_in_bytes)
        self._tail.append(record)
        self._tail_sequences.append(sequence)
        self._tail_bytes += size_in_bytes
        self.size_in_bytes += size_in_bytes
        if len(self._tail) >= TAIL_RECORDS:
            self._close_tail()

    def take(self) -> Records:
        """A portion, the oldest rows first; the pile must not be empty."""
        self._close_tail()
        taken = [self._next(self.portion)]
        size_in_bytes = taken[0].nbytes
        while self._records and self._belongs_to(size_in_bytes):
            taken.append(self._next(self.portion - size_in_bytes))
            size_in_bytes += taken[-1].nbytes
        self.size_in_bytes -= size_in_bytes
        self.first_s = self._books.clock()
        if len(taken) == 1:
            return taken[0]
        records = Records.concat(taken)
        # A column that only some of them have is filled up for the others.
        self._books.size_in_bytes += records.nbytes - size_in_bytes
        return records

    def _belongs_to(self, size_in_bytes: int) -> bool:
        """Whether the next run goes with so many bytes: if whole, or if much is lacking.

        Runs that are put together are copied, and the rest of one that was cut is one more.
        """
        return size_in_bytes + self._records[0].nbytes <= self.portion or size_in_bytes < WELL_FILLED * self.portion

    def _next(self, most: int) -> Records:
        """The oldest rows, at least one and as far as one can tell no more than so many bytes of them."""
        records = self._records.popleft()
        whole = records.nbytes
        count = max(1, len(records) * most // whole) if whole > most else len(records)
        if count >= len(records):
            return records
        first, rest = records.slice(0, count), records.slice(count, len(records))
        # Each has offsets of its own.
        grown = first.nbytes + rest.nbytes - whole
        self.size_in_bytes += grown
        self._books.size_in_bytes += grown
        self._records.appendleft(rest)
        return first

    def drain(self) -> list[Records]:
        """All rows, which nobody counts any more."""
        self._close_tail()
        drained = [*self._records]
        self._records.clear()
        self._books.forget(sum(map(len, drained)), self.size_in_bytes)
        self.size_in_bytes = 0
        return drained

    def _begin(self) -> None:
        if self.is_empty:
            self.first_s = self._books.clock()

    def _close_tail(self) -> None:
        if not self._tail:
            return
        records = Records.of(self._tail, np.asarray(self._tail_sequences, dtype=np.int64))
        # As columns they take other room than as objects.
        grown = records.nbytes - self._tail_bytes
        self.size_in_bytes += grown
        self._books.size_in_bytes += grown
        self._records.append(records)
        self._tail, self._tail_sequences, self._tail_bytes = [], [], 0
