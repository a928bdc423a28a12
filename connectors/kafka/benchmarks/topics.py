"""Topics that live for one run of a benchmark, and a count of what stands in them that asks no sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic, sleep
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 4
WAIT_S = 30.0
_MOST = 10_000
"""Messages that are taken at a time."""


class Topics:
    """The topics of one broker."""

    def __init__(self, bootstrap: str) -> None:
        # These outlive the broker, and would tell of its end without end.
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self.bootstrap = bootstrap
        self._admin = AdminClient(settings)
        self._consumer = Consumer({**settings, "group.id": "asyncsink-bench"})
        self._numbers = count()

    @contextmanager
    def fresh(self, rows: int, *, has_transactions: bool = False) -> Iterator[str]:
        """The name of an empty topic, which goes again, with its files, once so many rows stand in it.

        :param has_transactions: count what one who reads what is committed finds
        :raises RuntimeError: in the end another number of rows stands in it
        """
        name = f"bench-{next(self._numbers)}"
        # What is deleted would else lie on the disk for another minute: gigabytes.
        config = {"file.delete.delay.ms": "1000"}
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1, config=config)])[name].result(WAIT_S)
        self._await_leaders(name)
        try:
            yield name
            if (found := self._committed(name) if has_transactions else self._rows(name)) != rows:
                raise RuntimeError(f"{found} rows stand in topic {name}, and {rows} were sent to it")
        finally:
            self._admin.delete_topics([name])[name].result(WAIT_S)

    def _await_leaders(self, name: str) -> None:
        deadline_s = monotonic() + WAIT_S
        while not self._has_leaders(name):
            if monotonic() > deadline_s:
                raise RuntimeError(f"topic {name} has no leaders for its {PARTITIONS} partitions in {WAIT_S:g} s")
            sleep(0.05)

    def _has_leaders(self, name: str) -> bool:
        partitions = self._admin.list_topics(name, timeout=WAIT_S).topics[name].partitions
        return len(partitions) == PARTITIONS and all(each.leader >= 0 for each in partitions.values())

    def _rows(self, name: str) -> int:
        """By the end offsets, among which the marks of transactions would count."""
        every = (TopicPartition(name, partition) for partition in range(PARTITIONS))
        return sum(self._consumer.get_watermark_offsets(each, timeout=WAIT_S)[1] for each in every)

    def _committed(self, name: str) -> int:
        """By reading all, up to the end or to a transaction that is open; it takes seconds, which count for nobody."""
        settings = {"isolation.level": "read_committed", "enable.partition.eof": True, "group.id": "asyncsink-bench"}
        consumer = Consumer({**settings, "bootstrap.servers": self.bootstrap, "log_level": 0})
        consumer.assign([TopicPartition(name, partition, 0) for partition in range(PARTITIONS)])
        found, ended, idle_since_s = 0, set[int | None](), monotonic()
        try:
            while len(ended) < PARTITIONS:
                if messages := consumer.consume(_MOST, timeout=1.0):
                    idle_since_s = monotonic()
                elif monotonic() - idle_since_s > WAIT_S:
                    raise RuntimeError(
                        f"nothing more of topic {name} could be read in {WAIT_S:g} s, after {found} rows"
                    )
                for message in messages:
                    if (error := message.error()) is None:
                        found += 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended.add(message.partition())
        finally:
            consumer.close()
        return found
