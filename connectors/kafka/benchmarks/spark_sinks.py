"""A Spark job into Kafka: through our sink, through Spark's own as it is shipped, and through each of them tuned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import perf_counter

from pyspark.sql import DataFrame, SparkSession
from topics import Topics

from asyncsink_testing.bench_rows import Took
from asyncsink_testing.bench_spark import quiet_session
from asyncsink_testing.kafka.spark_jars import spark_kafka_jars
from asyncsink_testing.processor_time import spent_s

TASKS = 2
"""Spark's cores, and the tasks of each job."""

_ID_DIGITS = 20

OURS, OURS_TUNED = "asyncsink.kafka", "asyncsink.kafka tuned"
EXACTLY_ONCE = "asyncsink.kafka exactly-once"
SHIPPED, TUNED = "Spark's sink as shipped", "Spark's sink tuned"
_GUARANTEE = "deliveryGuarantee"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BATCH_BYTES = 2 << 20
"""Of Arrow's batches, where they are tuned."""


@dataclass(frozen=True, slots=True)
class Door:
    """A sink of Spark.

    :param options: beside servers and topic, which are the same for all; each waits for all replicas
    :param small_batches: whether Arrow's batches are of 2 MiB, and not of Spark's 10 000 rows
    """

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    small_batches: bool = False

    @property
    def has_transactions(self) -> bool:
        """Whether a topic holds marks of transactions beside the rows."""
        return self.options.get(_GUARANTEE) == "exactly-once"


SINKS: Mapping[str, Door] = {
    OURS: Door("asyncsink.kafka"),
    OURS_TUNED: Door("asyncsink.kafka", small_batches=True),
    EXACTLY_ONCE: Door("asyncsink.kafka", {_GUARANTEE: "exactly-once"}),
    SHIPPED: Door("kafka"),
    TUNED: Door(
        "kafka",
        {
            "kafka.batch.size": "900000",
            "kafka.linger.ms": "5",
            "kafka.max.request.size": str(8 << 20),
            "kafka.buffer.memory": str(128 << 20),
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent: so many rows, with values of so many bytes, with or without keys."""

    rows: int
    size: int
    keyed: bool

    def __str__(self) -> str:
        keys = "keys" if self.keyed else "no keys"
        return f"{self.rows / 1e6:g} M rows, values of {self.size} bytes, {keys}"

    def frame(self, spark: SparkSession) -> DataFrame:
        # Padding to the whole size would cost Spark 8 us a row of 1 KB, more than any of the sinks.
        value = f"concat(lpad(CAST(id AS STRING), {_ID_DIGITS}, '0'), '{'x' * (self.size - _ID_DIGITS)}') AS value"
        columns = ["CAST(id AS STRING) AS key", value] if self.keyed else [value]
        return spark.range(0, self.rows, 1, TASKS).selectExpr(*columns)


def spark_session() -> AbstractContextManager[SparkSession]:
    """Two cores, with the jars of Spark's own sink."""
    jars = ",".join(map(str, spark_kafka_jars()))
    return quiet_session(SparkSession.builder.master(f"local[{TASKS}]"), {"spark.jars": jars})


def sends(
    spark: SparkSession, topics: Topics, load: Load, sink: str, processes: Callable[[], Mapping[int, float]]
) -> Callable[[], Took]:
    """What sends the load through a sink into a fresh topic, and sees that it has arrived.

    A job of Spark's own sink that fails is repeated once, and told of: the producer that Spark keeps over its jobs may
    come to repeat a batch with a sequence number that the broker refuses, until it gives up after two minutes.

    :param processes: what all processes that count have used so far
    """
    door = SINKS[sink]
    batch_rows = min(10_000, _BATCH_BYTES // load.size) if door.small_batches else 10_000
    rows = load.frame(spark)

    def run() -> Took:
        try:
            return send()
        except Exception as error:
            if door.format == OURS:
                raise
            print(f"{load}: {sink} has failed and is asked again: {str(error)[:1000]}", file=sys.stderr)
            return send()

    def send() -> Took:
        with topics.fresh(load.rows, has_transactions=door.has_transactions) as topic:
            spark.conf.set(_BATCH_ROWS, str(batch_rows))
            writer = rows.write.format(door.format).mode("append").options(**door.options)
            writer = writer.option("kafka.bootstrap.servers", topics.bootstrap).option("topic", topic)
            before, start_s = processes(), perf_counter()
            writer.save()
            return Took(perf_counter() - start_s, spent_s(before, processes()))

    return run
