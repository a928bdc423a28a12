"""Streams through every door of Spark: the same rows, over all clusters, whichever way they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from asyncsink_dynamic_kafka import DynamicKafkaSink

from .streams import DOOR, VALUES, Stream, rows, source, written_stream

Write = Callable[[SparkSession, Stream, dict[str, str], Path], None]


def by_write(spark: SparkSession, stream: Stream, extra: dict[str, str], aside: Path) -> None:
    rows(spark).write.format(DOOR).options(**stream.options, **extra).mode("append").save()


def by_general_format(spark: SparkSession, stream: Stream, extra: dict[str, str], aside: Path) -> None:
    options = {"sink": "dynamic_kafka", **stream.options, **extra}
    rows(spark).write.format("asyncsink").options(**options).mode("append").save()


def by_sql(spark: SparkSession, stream: Stream, extra: dict[str, str], aside: Path) -> None:
    given = ", ".join(f"'{name}' = '{value}'" for name, value in {**stream.options, **extra}.items())
    table = stream.stream_id.replace("-", "_")
    spark.sql(f"CREATE TABLE {table} (value STRING) USING {DOOR}")
    rows(spark).createOrReplaceTempView("rows")
    spark.sql(f"INSERT INTO {table} WITH ({given}) SELECT * FROM rows")


def by_write_stream(spark: SparkSession, stream: Stream, extra: dict[str, str], aside: Path) -> None:
    written_stream(spark, aside, {**stream.options, **extra})


def by_typed_write(spark: SparkSession, stream: Stream, extra: dict[str, str], aside: Path) -> None:
    _sink(stream, extra).write(rows(spark))


def by_typed_write_stream(spark: SparkSession, stream: Stream, extra: dict[str, str], aside: Path) -> None:
    writer = _sink(stream, extra).write_stream(source(spark, aside, 6), checkpointLocation=str(aside / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def _sink(stream: Stream, extra: dict[str, str]) -> DynamicKafkaSink:
    return DynamicKafkaSink(
        stream_ids=[stream.stream_id],
        metadata_service="file",
        metadata_service_path=str(stream.path),
        delivery_guarantee=extra.get("deliveryGuarantee", "at-least-once"),
    )


DOORS = {
    "df.write": by_write,
    "general format": by_general_format,
    "SQL INSERT": by_sql,
    "writeStream": by_write_stream,
    "typed write": by_typed_write,
    "typed write_stream": by_typed_write_stream,
}


@pytest.mark.parametrize("write", DOORS.values(), ids=DOORS)
def test_all_rows_are_stored_and_each_cluster_has_some(
    spark: SparkSession, tmp_path: Path, stream: Stream, write: Write
) -> None:
    write(spark, stream, {}, tmp_path)
    assert stream.union() == VALUES
    assert all(stream.stored().values())


@pytest.mark.kafka_service
@pytest.mark.parametrize("write", DOORS.values(), ids=DOORS)
def test_with_transactions_each_row_is_shown_once_in_one_of_the_clusters(
    spark: SparkSession, tmp_path: Path, broker_stream: Stream, write: Write
) -> None:
    write(spark, broker_stream, {"deliveryGuarantee": "exactly-once"}, tmp_path)
    assert broker_stream.union(len(VALUES)) == VALUES
    assert all(broker_stream.stored().values())


@pytest.mark.kafka_service
def test_a_failed_job_shows_nothing_in_any_cluster(spark: SparkSession, tmp_path: Path, broker_stream: Stream) -> None:
    failing = rows(spark).selectExpr("IF(value = 'row 59', raise_error('no more'), value) AS value")
    options = {**broker_stream.options, "deliveryGuarantee": "exactly-once"}
    with pytest.raises(PySparkException, match="no more"):
        failing.write.format(DOOR).options(**options).mode("append").save()
    assert broker_stream.union() == []


@pytest.mark.kafka_service
def test_a_micro_batch_that_only_spark_has_not_noted_is_not_written_again(
    spark: SparkSession, tmp_path: Path, broker_stream: Stream
) -> None:
    options = {**broker_stream.options, "deliveryGuarantee": "exactly-once"}
    written_stream(spark, tmp_path, options)
    commits = tmp_path / "checkpoint" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
    for name in (str(last), f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
    written_stream(spark, tmp_path, options)
    assert broker_stream.union(len(VALUES)) == VALUES


def test_rows_name_their_streams_in_a_column(spark: SparkSession, stream: Stream) -> None:
    options = {**stream.options, "streamPattern": "orders-.*"}
    del options["streamIds"]
    named = rows(spark).selectExpr("value", f"'{stream.stream_id}' AS stream")
    named.write.format(DOOR).options(**options).mode("append").save()
    assert stream.union() == VALUES


def test_a_row_of_no_subscribed_stream_goes_by_on_rejected(spark: SparkSession, stream: Stream) -> None:
    given = rows(spark).selectExpr("value", f"IF(value = 'row 7', 'other', '{stream.stream_id}') AS stream")
    writer = given.write.format(DOOR).options(**stream.options).mode("append")
    with pytest.raises(PySparkException, match="STREAM_NOT_SUBSCRIBED"):
        writer.save()
    writer.options(onRejected="drop", maxRejected="1.0").save()
    assert {*stream.union()} == {*VALUES} - {b"row 7"}
