"""Exactly once where Spark has no writer for streams: each micro-batch is a batch job by a name that is remembered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from asyncsink import ConfigurationError
from asyncsink.spark import foreach_batch
from asyncsink_files import FilesSink

BATCHES = 3


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Callable[[Callable[[DataFrame, int], None]], None]:
    """Runs what a stream of three files has to give, from where its checkpoint is."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(BATCHES):
        (source / f"{number}.json").write_text(f'{{"id": {number}}}\n')

    def run_it(write: Callable[[DataFrame, int], None]) -> None:
        stream = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", 1).json(str(source))
        writer = stream.writeStream.outputMode("update").foreachBatch(write)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()

    return run_it


def shown(folder: Path) -> list[int]:
    texts = [path.read_text() for path in folder.glob("*.json")]
    return sorted(json.loads(line)["id"] for text in texts for line in text.splitlines())


def forget_last(checkpoint: Path) -> None:
    """As after a kill between the job's commit and Spark's own."""
    for name in (f"{BATCHES - 1}", f".{BATCHES - 1}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)


def test_a_micro_batch_that_spark_repeats_is_shown_once(run: Any, tmp_path: Path) -> None:
    write = foreach_batch(FilesSink(path=str(tmp_path / "rows")), stateLocation=str(tmp_path / "state"))
    run(write)
    assert shown(tmp_path / "rows") == [0, 1, 2]
    forget_last(tmp_path / "checkpoint")
    run(write)
    assert shown(tmp_path / "rows") == [0, 1, 2]


def test_so_is_one_that_is_written_in_two_parts(run: Any, tmp_path: Path) -> None:
    write = foreach_batch(FilesSink(path=str(tmp_path / "rows")), stateLocation=str(tmp_path / "state"))

    def both(df: DataFrame, batch_id: int) -> None:
        write(df, batch_id)
        write(df.selectExpr("id + 10 AS id"), batch_id)

    run(both)
    forget_last(tmp_path / "checkpoint")
    run(both)
    assert shown(tmp_path / "rows") == [0, 1, 2, 10, 11, 12]


def test_without_a_place_where_it_is_remembered_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"FilesSink, which delivers exactly once, needs stateLocation"):
        foreach_batch(FilesSink(path=str(tmp_path / "rows")))
