"""Records that were written one by one and are not routed yet."""

from __future__ import annotations

from typing import Final

import numpy as np

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock

MOST_RECORDS: Final = 2000
"""Records that are routed together."""

MOST_BYTES: Final = 1024 * 1024
"""Bytes of records that are routed although they are fewer."""

SHARE: Final = 16
"""They are no more than this part of what the writer may hold."""


class Tail:
    """Records as objects, which become columns together; of what a writer may hold they are a small part at most.

    :ivar size_in_bytes: of them, about
    """

    def __init__(self, config: AsyncSinkWriterConfig) -> None:
        self._most = min(MOST_RECORDS, config.max_buffered_requests // SHARE)
        self._most_bytes = min(MOST_BYTES, config.max_buffered_size_in_bytes // SHARE)
        self._records: list[KafkaStreamRecord] = []
        self._sequences: list[int] = []
        self.size_in_bytes = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def is_full(self) -> bool:
        return bool(self._records) and (len(self._records) >= self._most or self.size_in_bytes >= self._most_bytes)

    def append(self, record: KafkaStreamRecord, sequence: int, size_in_bytes: int) -> None:
        """Take one record."""
        self._records.append(record)
        self._sequences.append(sequence)
        self.size_in_bytes += size_in_bytes

    def take(self) -> StreamBlock:
        """All of them."""
        block = StreamBlock.of(self._records, np.asarray(self._sequences, dtype=np.int64))
        self._records, self._sequences, self.size_in_bytes = [], [], 0
        return block
