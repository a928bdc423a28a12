"""The table of the demo: the rows in every topic of every cluster, a line a second."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from dynamic_kafka.clusters import PARTITIONS, Clusters

PERIOD_S = 1.0
_COLUMNS = ("A flights", "A flights-large", "B flights", "C flights")
_WIDTH = 18
_ANSWER_S = 2.0


class Board:
    """Prints how many rows stand where, and how many of them are new since the line before."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._consumers: dict[str, Any] = {}
        self._rows: dict[str, int] = {}
        self._shown: dict[str, int] = {}
        self._started = self._shown_at = time.monotonic()

    def begin(self) -> None:
        """Print the head, and count the seconds from now on."""
        self._started = self._shown_at = time.monotonic()
        print("".join(["seconds  batch", *(f"{name:>{_WIDTH}}" for name in _COLUMNS)]), flush=True)

    def tell(self, event: str) -> None:
        """Print what has been done to the clusters."""
        print(f"{self.seconds:7.1f}  == {event}", flush=True)

    def show(self, batch: int) -> None:
        """Count, and print a line if there are rows and it is time to."""
        if self.count() and time.monotonic() - self._shown_at >= PERIOD_S:
            cells = "".join(f"{self._cell(name):>{_WIDTH}}" for name in _COLUMNS)
            print(f"{self.seconds:7.1f}  {batch:5}{cells}", flush=True)
            self._shown_at, self._shown = time.monotonic(), dict(self._rows)

    def count(self) -> int:
        """The rows in all topics; of a cluster that is down those that it had."""
        for name, topic in self._clusters.topics:
            if self._clusters.runs(name):
                self._rows[f"{name} {topic}"] = self._ends(name, topic)
        return sum(self._rows.values())

    def close(self) -> None:
        for each in self._consumers.values():
            each.close()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def _cell(self, column: str) -> str:
        if column not in self._rows:
            return "-"
        rows = self._rows[column]
        if not self._clusters.runs(column.partition(" ")[0]):
            return f"(down) {rows}"
        new = rows - self._shown.get(column, 0)
        return f"+{new} {rows:7}" if new else str(rows)

    def _ends(self, name: str, topic: str) -> int:
        """Where the partitions end; as before while a broker that is busy does not say."""
        from confluent_kafka import KafkaException, TopicPartition

        consumer = self._consumer(name)
        partitions = [TopicPartition(topic, each) for each in range(PARTITIONS)]
        try:
            return sum(consumer.get_watermark_offsets(each, timeout=_ANSWER_S)[1] for each in partitions)
        except KafkaException:
            # It may know of another leader than there is now, and would go on asking that.
            with suppress(KafkaException):
                consumer.list_topics(topic, _ANSWER_S)
            return self._rows.get(f"{name} {topic}", 0)

    def _consumer(self, name: str) -> Any:
        from confluent_kafka import Consumer

        if name not in self._consumers:
            # Rows count as they come, before their transaction is committed.
            settings = {"group.id": "asyncsink-demo", "isolation.level": "read_uncommitted", "log_level": 0}
            self._consumers[name] = Consumer({"bootstrap.servers": self._clusters.bootstrap(name), **settings})
        return self._consumers[name]
