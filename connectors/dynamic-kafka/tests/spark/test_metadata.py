"""Metadata under Spark: asked once for many tasks, kept in the checkpoint, and told in the progress."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from asyncsink.cli import run
from asyncsink.cli.machine import Machine

from .streams import DOOR, ROWS, VALUES, Stream, rows, written_stream


def test_a_query_starts_by_its_state_where_the_metadata_service_is_down(
    spark: SparkSession, tmp_path: Path, stream: Stream
) -> None:
    written_stream(spark, tmp_path, stream.options, files=2)
    stream.path.unlink()
    # By other options, so that no worker remembers what the service has said; and more tasks than have left states.
    forgotten = {**stream.options, "metadataService.timeout": "29s"}
    written_stream(spark, tmp_path, forgotten, files=6, partitions=3)
    assert stream.union() == VALUES
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(StreamingQueryException, match=f"FileMetadataService has failed.*{stream.stream_id}"):
        written_stream(spark, tmp_path / "elsewhere", {**stream.options, "metadataService.timeout": "28s"})


def test_a_worker_process_asks_once_for_all_its_tasks_and_micro_batches(
    spark: SparkSession, tmp_path: Path, stream: Stream
) -> None:
    calls = tmp_path / "calls"
    options = {
        "streamIds": stream.stream_id,
        "metadataService": "counted_metadata:CountedMetadataService",
        "metadataService.properties.stream": stream.stream_id,
        "metadataService.properties.calls": str(calls),
        "metadataService.properties.clusters": json.dumps(stream.bootstrap),
        # In place of a minute: no machine is so slow that another call is due.
        "stream-metadata-discovery-interval-ms": "3600000",
    }
    written_stream(spark, tmp_path, options)
    assert stream.union() == VALUES
    asked = Counter(calls.read_text().split())
    assert {*asked.values()} == {1}
    # Of three micro-batches with two tasks each, in as many processes as there are cores, or a few more.
    assert len(asked) < 6


def test_progress_and_status_tell_of_each_cluster(spark: SparkSession, tmp_path: Path, stream: Stream) -> None:
    written_stream(spark, tmp_path, stream.options)
    text, code = run(["status", str(tmp_path / "checkpoint"), "--json"], Machine.here())
    assert code == 0
    batches = json.loads(text)["sinks"][0]["last"]
    told = [each["metrics"] for each in batches]
    for name, stored in stream.stored().items():
        assert sum(each[f"cluster.{name}.numRecordsAcknowledged"] for each in told) == len(stored)
        assert all(each[f"cluster.{name}.numBytesOut"] > 0 for each in told)
        assert all(each[f"cluster.{name}.numRecordsOutErrors"] == 0 for each in told)
    assert sum(each["rows"] for each in batches) == ROWS
    assert {each["numActiveClusters"] for each in told} == {2}
    assert all(each["metadataAgeSeconds"] >= 0 and each["numMetadataFailures"] == 0 for each in told)
    shown, _ = run(["status", str(tmp_path / "checkpoint")], Machine.here())
    assert "cluster.A: numBytesOut " in shown
    assert "numActiveClusters 2" in shown


def test_an_unknown_stream_fails_before_the_first_row(spark: SparkSession, stream: Stream) -> None:
    options = {**stream.options, "streamIds": f"{stream.stream_id},payments"}
    named = rows(spark).selectExpr("value", f"'{stream.stream_id}' AS stream")
    with pytest.raises(PySparkException, match=r"nothing is known of stream 'payments'.*leave it out of streamIds"):
        named.write.format(DOOR).options(**options).mode("append").save()
    assert stream.union() == []


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["value"], "the rows have no stream: add a column 'stream'"),
        (["value", "7 AS stream"], "column 'stream'.*int"),
        (["stream"], "value"),
    ],
)
def test_columns_that_cannot_be_written_are_refused_when_the_job_is_planned(
    spark: SparkSession, stream: Stream, columns: list[str], told: str
) -> None:
    options = {**stream.options, "streamIds": f"{stream.stream_id},payments"}
    given = rows(spark).selectExpr("value", "'orders' AS stream").selectExpr(*columns)
    with pytest.raises(PySparkException, match=told):
        given.write.format(DOOR).options(**options).mode("append").save()
