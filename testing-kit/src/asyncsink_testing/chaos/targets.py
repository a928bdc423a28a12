"""The sinks that the harness knows: how their destination is started, and how what stands in it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from asyncsink_testing.aws.boto import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from asyncsink_testing.aws.fake import REGION
from asyncsink_testing.chaos.aws_api import STREAM
from asyncsink_testing.chaos.dynamic_kafka_log import STREAM_ID, ClustersReader
from asyncsink_testing.chaos.files_folder import FolderReader
from asyncsink_testing.chaos.kafka_log import TOPIC, KafkaReader
from asyncsink_testing.chaos.log import LogReader
from asyncsink_testing.chaos.schedule import VICTIMS, Victim
from asyncsink_testing.chaos.source import Row

AT_LEAST_ONCE = "at-least-once"
EFFECTIVELY_ONCE = "effectively-once"
"""Delivered at least once to a destination that knows repetitions."""
EXACTLY_ONCE = "exactly-once"


class Reader(Protocol):
    """Reads what stands in the destination, without the connector's client."""

    def fresh(self) -> list[Row]:
        """The rows that have come to stand there since the last call; soon, and without waiting for any."""

    def everything(self) -> list[Row]:
        """All rows, each as often as it stands there. The destination runs, and nobody writes any more."""

    def close(self) -> None:
        """Let go of what it reads from."""


@dataclass(frozen=True, slots=True)
class Target:
    """One sink with its destination.

    :param guarantees: those that the sink can be asked for
    :param service: the module that is the destination: ``python -m SERVICE FOLDER`` writes ``FOLDER/endpoint``, comes
        back to that endpoint when it is started again, keeps what it has stored, and ends with its stdin
    :param options: those of the format, by endpoint and guarantee; requests of few rows, so that a
        write can be hit half way
    :param reader: makes what reads the rows back, by the run's folder, in which there may be nothing yet
    :param columns: what the sink is sent, as SQL expressions over the columns of the source
    :param victims: what can be killed
    :param settings: of Spark's session
    :param connector: by what Spark knows the sink, if it is not the name
    """

    name: str
    guarantees: tuple[str, ...]
    service: str
    options: Callable[[str, str], Mapping[str, str]]
    reader: Callable[[Path], Reader]
    columns: tuple[str, ...] = ("*",)
    victims: tuple[Victim, ...] = VICTIMS
    settings: Mapping[str, str] = field(default_factory=dict)
    connector: str | None = None

    @property
    def format(self) -> str:
        """What Spark knows the sink by."""
        return f"asyncsink.{self.connector or self.name.replace('-', '_')}"


PARTITIONS = (2, 3, 4, 5)
"""Two tasks run at once: there is always more than one writer."""


def partitions(guarantee: str) -> tuple[int, ...]:
    """How many partitions a query may have, drawn anew whenever it starts.

    Always as many where a replay has to send the same requests: the same rows have to come to the same partitions.
    """
    return (4,) if guarantee == EFFECTIVELY_ONCE else PARTITIONS


_TUNING = {
    "maxBatchSize": "5",
    "maxInFlightRequests": "4",
    "requestTimeout": "5s",
    "retry.initialBackoff": "10ms",
    "retry.maxBackoff": "200ms",
    "rateLimit": "none",
}


def _http_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    if guarantee == EFFECTIVELY_ONCE:
        return {"url": f"{endpoint}/once", "batching": "deterministic", **_TUNING}
    return {"url": f"{endpoint}/rows", **_TUNING}


def _http_put_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    options = {"url": f"{endpoint}/rows/{{id}}", "method": "PUT", "body": "single", **_TUNING}
    # A row a request, and routes that are used once: more of them at a time, or a micro-batch takes a minute.
    return {**options, "maxBatchSize": "1", "maxInFlightRequests": "10"}


_TROUBLED = "asyncsink_testing.chaos.troubled_http_service"

_KAFKA_TUNING = {
    "maxBatchSize": "5",
    "maxTimeInBuffer": "5ms",
    "retry.initialBackoff": "10ms",
    "retry.maxBackoff": "200ms",
    # A broker that is killed must not be waited for longer than it takes to start again.
    "requestTimeout": "5s",
    # One that runs takes a micro-batch within milliseconds, which would leave no time to hit it half way.
    "rateLimit.recordsPerSecond": "500",
    "rateLimit.burst": "5",
}
_KAFKA_COLUMNS = ("CAST(id AS STRING) AS key", "to_json(struct(*)) AS value")


def _kafka_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    return {"kafka.bootstrap.servers": endpoint, "topic": TOPIC, "deliveryGuarantee": guarantee, **_KAFKA_TUNING}


def _dynamic_kafka_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    return {
        "metadataService": "file",
        "metadataService.path": endpoint,
        "streamIds": STREAM_ID,
        "deliveryGuarantee": guarantee,
        # The streams move every second or so.
        "stream-metadata-discovery-interval-ms": "100",
        # Shorter than a cluster that was killed takes to come back.
        "removedClusterTimeout": "3s",
        **_KAFKA_TUNING,
    }


def _aws_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    return {
        "stream": STREAM,
        "region": REGION,
        "endpoint": endpoint,
        "accessKeyId": ACCESS_KEY_ID,
        "secretAccessKey": SECRET_ACCESS_KEY,
        **_TUNING,
    }


def _firehose_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    # Several records a request, and rows a record: one that is lost takes them all along.
    return {**_aws_options(endpoint, guarantee), "packing": "rows", "packedRecordRows": "2"}


def _files_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    return {"path": endpoint, "deliveryGuarantee": guarantee}


_SLOW_ROWS = ("id", "concat(text, substr(reflect('java.lang.Thread', 'sleep', 2L), 1, 0)) AS text")
"""A file takes a micro-batch within a millisecond, which would leave no time to hit it half way."""


TARGETS: Mapping[str, Target] = {
    each.name: each
    for each in (
        Target(
            "dynamic-kafka",
            (AT_LEAST_ONCE, EXACTLY_ONCE),
            "asyncsink_testing.chaos.dynamic_kafka_service",
            _dynamic_kafka_options,
            ClustersReader,
            _KAFKA_COLUMNS,
        ),
        Target(
            "files",
            (EXACTLY_ONCE,),
            "asyncsink_testing.chaos.files_service",
            _files_options,
            FolderReader,
            _SLOW_ROWS,
            tuple(each for each in VICTIMS if each != "destination"),
            {"spark.sql.execution.arrow.maxRecordsPerBatch": "5"},
        ),
        Target("firehose", (AT_LEAST_ONCE,), "asyncsink_testing.chaos.firehose_service", _firehose_options, LogReader),
        Target("kinesis", (AT_LEAST_ONCE,), "asyncsink_testing.chaos.kinesis_service", _aws_options, LogReader),
        Target("http", (AT_LEAST_ONCE, EFFECTIVELY_ONCE), _TROUBLED, _http_options, LogReader),
        Target("http-put", (EFFECTIVELY_ONCE,), _TROUBLED, _http_put_options, LogReader, connector="http"),
        Target(
            "kafka",
            (AT_LEAST_ONCE, EXACTLY_ONCE),
            "asyncsink_testing.chaos.kafka_service",
            _kafka_options,
            KafkaReader,
            _KAFKA_COLUMNS,
        ),
    )
}
"""By name."""
