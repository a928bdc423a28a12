"""Topics that live for one run of a benchmark, and a count of what stands in them that asks no sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic, sleep
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 4
WAIT_S = 30.0


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
    def fresh(self, rows: int) -> Iterator[str]:
        """The name of an empty topic, which goes again, with its files, once so many rows stand in it.

        :raises RuntimeError: in the end another number of rows stands in it
        """
        name = f"bench-{next(self._numbers)}"
        # What is deleted would else lie on the disk for another minute: gigabytes.
        config = {"file.delete.delay.ms": "1000"}
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1, config=config)])[name].result(WAIT_S)
        self._await_leaders(name)
        try:
            yield name
            if (found := self._rows(name)) != rows:
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
        """By the end offsets: there are no transactions here, whose marks would count."""
        every = (TopicPartition(name, partition) for partition in range(PARTITIONS))
        return sum(self._consumer.get_watermark_offsets(each, timeout=WAIT_S)[1] for each in every)
