"""Spark's own Kafka sink, to run beside ours: the jars that PySpark does not bring, fetched once by Maven."""

from __future__ import annotations

from pathlib import Path

from asyncsink_testing.kafka.maven import fetched

_SPARK_VERSION = "4.2.0"

_ARTIFACTS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", _SPARK_VERSION),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)
"""Those that run with PySpark 4.3. None of what they depend on in turn is taken: the rest is in PySpark itself."""


def spark_kafka_jars() -> list[Path]:
    """The jars for ``spark.jars``; from the user's cache, or fetched into it, however many ask at once.

    :raises KafkaUnavailable: there is no Maven, or it could not fetch them
    """
    return sorted(fetched(f"spark-kafka-{_SPARK_VERSION}", _ARTIFACTS, alone=True).glob("*.jar"))
