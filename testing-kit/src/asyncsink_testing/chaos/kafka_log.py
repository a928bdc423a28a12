"""The topic of a run, read back with confluent-kafka: what stands in a log that a broker keeps."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.source import Row

TOPIC = "rows"
PARTITIONS = 3

_READ_S = 60.0
_WATERMARKS_S = 20.0
_MOST = 10_000
"""Messages that are taken at a time."""

_SETTINGS = {
    "group.id": "asyncsink-chaos",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # What a broker had not kept when it was killed leaves a position behind the end of its log.
    "auto.offset.reset": "earliest",
    "fetch.error.backoff.ms": 20,
    "fetch.wait.max.ms": 50,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    # That the broker is gone is what the run is about.
    "log_level": 0,
}


class TopicLog:
    """Reads the topic of a run on one cluster, on and on."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        # A write that is half way is in a transaction, if there are any.
        self._consumer = _consumer(bootstrap, "read_uncommitted")
        self._consumer.assign(_partitions(0))

    def fresh(self) -> list[Row]:
        """The rows that were stored since the last call, be they committed or not."""
        return [_row(each) for each in self._consumer.consume(_MOST, timeout=0.0) if each.error() is None]

    def everything(self) -> list[Row]:
        """The rows that are committed.

        :raises ChaosError: the broker does not let all be read that it says it has
        """
        ends = _ends(self._bootstrap)
        consumer = _consumer(self._bootstrap, "read_committed")
        try:
            return list(_read_to(consumer, ends))
        finally:
            consumer.close()

    def close(self) -> None:
        """Let go of the cluster."""
        self._consumer.close()


class KafkaReader:
    """Reads the topic of a run's folder, from the moment at which the broker has come to listen."""

    def __init__(self, folder: Path) -> None:
        self._endpoint = folder / "endpoint"
        self._log: TopicLog | None = None

    def fresh(self) -> list[Row]:
        return self._opened().fresh() if self._endpoint.exists() else []

    def everything(self) -> list[Row]:
        """:raises ChaosError: the broker does not let all be read that it says it has"""
        return self._opened().everything()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _opened(self) -> TopicLog:
        if self._log is None:
            self._log = TopicLog(self._endpoint.read_text())
        return self._log


def _consumer(bootstrap: str, isolation: str) -> Any:
    from confluent_kafka import Consumer

    return Consumer({**_SETTINGS, "bootstrap.servers": bootstrap, "isolation.level": isolation})


def _partitions(offset: int) -> list[Any]:
    from confluent_kafka import TopicPartition

    return [TopicPartition(TOPIC, partition, offset) for partition in range(PARTITIONS)]


def _ends(bootstrap: str) -> list[int]:
    """Where the partitions end now: to one who reads what is committed an open transaction would be the end."""
    consumer = _consumer(bootstrap, "read_uncommitted")
    try:
        return [consumer.get_watermark_offsets(each, timeout=_WATERMARKS_S)[1] for each in _partitions(0)]
    finally:
        consumer.close()


def _read_to(consumer: Any, ends: list[int]) -> Iterator[Row]:
    """The rows before these ends.

    :raises ChaosError: they cannot be reached; a transaction that nobody has ended stands in the way of all after it
    """
    from confluent_kafka import KafkaError

    consumer.assign(_partitions(0))
    reached = [0] * len(ends)
    deadline_s = time.monotonic() + _READ_S
    while any(at < end for at, end in zip(reached, ends, strict=True)):
        if time.monotonic() > deadline_s:
            raise ChaosError(f"in {_READ_S:g} s topic {TOPIC!r} could be read up to {reached}, and it ends at {ends}")
        for message in consumer.consume(_MOST, timeout=0.1):
            error = message.error()
            if error is None:
                reached[message.partition()] = message.offset() + 1
                if message.offset() < ends[message.partition()]:
                    yield _row(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                # Beyond the last record there may be markers of transactions, which nobody is given.
                reached[message.partition()] = message.offset()


def _row(message: Any) -> Row:
    """What the message holds; a row that no source has, if that is none."""
    try:
        row = json.loads(message.value())
    except (TypeError, ValueError):
        row = None
    return row if isinstance(row, dict) else {"id": None}
