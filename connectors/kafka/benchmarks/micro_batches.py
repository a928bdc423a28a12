"""Small micro-batches into Kafka, at least once and exactly once: what a commit costs each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_sinks import EXACTLY_ONCE, OURS, SINKS, spark_session
from topics import Topics

from asyncsink_testing.bench import Comparison, compare, interleave
from asyncsink_testing.bench_streams import ADD_BATCH, TRIGGER, MicroBatches

COUNTED, WARM_UP = 22, 8
TASKS, ROWS = 2, 1_000
"""Of each micro-batch, and of each of its tasks."""
MOST_MS_ABOVE = 30.0
"""What begin, prepare, decide and commit may add to a micro-batch."""


class Query:
    """Sends the stream through a sink of ours into a fresh topic; gives the time of a trigger, and keeps the rest."""

    def __init__(self, stream: MicroBatches, topics: Topics, sink: str) -> None:
        self._stream, self._topics, self._door = stream, topics, SINKS[sink]
        self._add_batch_ms: list[float] = []

    def __call__(self) -> float:
        with self._topics.fresh(self._stream.rows, has_transactions=self._door.has_transactions) as topic:
            options = {"kafka.bootstrap.servers": self._topics.bootstrap, "topic": topic, **self._door.options}
            took = self._stream.medians_ms(self._door.format, options)
        self._add_batch_ms.append(took[ADD_BATCH])
        return took[TRIGGER]

    @property
    def add_batch_ms(self) -> list[float]:
        """Of each round; the first run warms up."""
        return self._add_batch_ms[1:]


def micro_batches(topics: Topics, rounds: int) -> Iterator[Comparison]:
    """The medians of a trigger, and of the part of it in which the sink is at work."""
    with TemporaryDirectory(prefix="asyncsink-bench-") as name, spark_session() as spark:
        stream = MicroBatches(spark, Path(name), COUNTED, rows=ROWS, files=TASKS, warm_up=WARM_UP)
        queries = {sink: Query(stream, topics, sink) for sink in (EXACTLY_ONCE, OURS)}
        triggers_ms = interleave(queries, rounds)
    work = f"a micro-batch of {TASKS * ROWS} rows, {TASKS} tasks, {EXACTLY_ONCE}"
    yield compare(
        f"{work}: {TRIGGER}", triggers_ms[EXACTLY_ONCE], OURS, triggers_ms[OURS], unit="ms", most_above=MOST_MS_ABOVE
    )
    yield compare(
        f"{work}: {ADD_BATCH}", queries[EXACTLY_ONCE].add_batch_ms, OURS, queries[OURS].add_batch_ms, unit="ms"
    )
