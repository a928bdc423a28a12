"""A stream in two clusters, the file that says so, and rows for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from asyncsink_testing.kafka import KafkaBroker, MockCluster
from asyncsink_testing.kafka.reading import TopicReader

if TYPE_CHECKING:
    # Conformance checks without Spark are collected from here as well.
    from pyspark.sql import DataFrame, SparkSession

DOOR = "asyncsink.dynamic_kafka"
ROWS = 60
_SHOWN_S: Final = 10.0
_POLL_S: Final = 0.1
VALUES = sorted(b"row %d" % number for number in range(ROWS))

Clusters = Mapping[str, MockCluster | KafkaBroker]


class Stream:
    """A stream with a topic of its own in each cluster.

    :ivar path: of the metadata file
    """

    def __init__(self, clusters: Clusters, folder: Path, stream_id: str) -> None:
        self._clusters, self.stream_id, self.path = clusters, stream_id, folder / "streams.json"
        for each in clusters.values():
            each.create_topic(stream_id, 2)
        self.is_in(*clusters)

    def is_in(self, *names: str) -> None:
        """From now on the stream is in these clusters."""
        told = {name: {"bootstrapServers": self.bootstrap[name], "topics": [self.stream_id]} for name in names}
        self.path.write_text(json.dumps({"version": 1, "streams": {self.stream_id: {"clusters": told}}}))

    @property
    def bootstrap(self) -> Mapping[str, str]:
        """The bootstrap servers of each cluster."""
        return {name: each.bootstrap for name, each in self._clusters.items()}

    @property
    def options(self) -> dict[str, str]:
        """By which a user writes to it."""
        return {
            "streamIds": self.stream_id,
            "metadataService": "file",
            "metadataService.path": str(self.path),
        }

    def stored(self, least: int = 0) -> Mapping[str, list[bytes]]:
        """What consumers who read only what is committed find in each cluster.

        :param least: so many rows of all clusters are waited for, which may come a moment after a commit was taken
        """
        deadline_s = monotonic() + _SHOWN_S
        while True:
            found = {name: self._read(each.bootstrap) for name, each in self._clusters.items()}
            if sum(map(len, found.values())) >= least or monotonic() > deadline_s:
                return found
            sleep(_POLL_S)

    def union(self, least: int = 0) -> list[bytes]:
        """What all clusters have together."""
        return sorted(value for values in self.stored(least).values() for value in values)

    def _read(self, bootstrap: str) -> list[bytes]:
        reader = TopicReader(bootstrap, self.stream_id)
        try:
            return [each or b"" for each in reader.values()]
        finally:
            reader.close()


def rows(spark: SparkSession, first: int = 0, end: int = ROWS) -> DataFrame:
    """Rows in two partitions; each value is there once."""
    return spark.range(first, end, 1, 2).selectExpr("concat('row ', id) AS value")


def source(spark: SparkSession, folder: Path, files: int, partitions: int = 2) -> DataFrame:
    """The rows as a stream of micro-batches of two files each, of which so many are there by now."""
    lines = folder / "source"
    lines.mkdir(exist_ok=True)
    for number in range(len([*lines.iterdir()]), files):
        share = range(number * ROWS // 6, (number + 1) * ROWS // 6)
        (lines / f"{number}.txt").write_text("".join(f"row {row}\n" for row in share))
    stream = spark.readStream.option("maxFilesPerTrigger", 2).text(str(lines))
    return stream.repartition(partitions)


def written_stream(
    spark: SparkSession, folder: Path, options: Mapping[str, str], files: int = 6, partitions: int = 2
) -> None:
    """Write what the stream has by now, from where its checkpoint is."""
    writer = source(spark, folder, files, partitions).writeStream.format(DOOR).options(**options)
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
