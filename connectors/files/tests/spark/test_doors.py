"""Files through every door of Spark: one test, and the same rows whichever way they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from asyncsink_files import FilesSink, read_manifest

DOOR = "asyncsink.files"
COLUMNS = "id BIGINT, text STRING, tags ARRAY<STRING>"
EXPRESSIONS = ["id", "concat('row ', id) AS text", "array('a', CAST(id AS STRING)) AS tags"]
ROWS = [{"id": number, "text": f"row {number}", "tags": ["a", str(number)]} for number in range(30)]

Write = Callable[[SparkSession, Path | str, dict[str, str], Path], None]


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, len(ROWS), 1, 3).selectExpr(*EXPRESSIONS)


def by_sql(spark: SparkSession, folder: Path | str, options: dict[str, str], aside: Path) -> None:
    # Those of CREATE TABLE do not reach a sink in Python.
    given = ", ".join(f"'{name}' = '{value}'" for name, value in {**options, "path": str(folder)}.items())
    name = f"files_{options['fileFormat']}"
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING {DOOR}")
    rows(spark).createOrReplaceTempView("source")
    spark.sql(f"INSERT INTO {name} WITH ({given}) SELECT * FROM source")


def by_write(spark: SparkSession, folder: Path | str, options: dict[str, str], aside: Path) -> None:
    rows(spark).write.format(DOOR).options(**options).mode("append").save(str(folder))


def by_write_stream(spark: SparkSession, folder: Path | str, options: dict[str, str], aside: Path) -> None:
    source = aside / "source"
    if not source.exists():
        rows(spark).write.json(str(source))
    stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(source))
    writer = stream.writeStream.format(DOOR).options(**options)
    writer.option("checkpointLocation", str(aside / "checkpoint")).trigger(availableNow=True).start(
        str(folder)
    ).awaitTermination()


DOORS = {"SQL INSERT": by_sql, "df.write": by_write, "writeStream": by_write_stream}


def read(path: str) -> list[dict[str, Any]]:
    if path.endswith(".parquet"):
        found: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
        return found
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def listed(folder: Path) -> list[dict[str, Any]]:
    found = [row for file in read_manifest(folder) for row in read(file.path)]
    return sorted(found, key=lambda row: int(row["id"]))


@pytest.mark.parametrize("file_format", ["json", "parquet"])
@pytest.mark.parametrize("write", DOORS.values(), ids=DOORS)
def test_the_same_rows_are_shown_and_listed_once_through_every_door(
    spark: SparkSession, tmp_path: Path, write: Write, file_format: str
) -> None:
    folder = tmp_path / "rows"
    write(spark, folder, {"fileFormat": file_format}, tmp_path)
    assert listed(folder) == ROWS
    shown = spark.read.schema(COLUMNS).format(file_format).load(str(folder))
    assert [row.asDict() for row in shown.orderBy("id").collect()] == ROWS
    assert not (folder / "_asyncsink").exists()


def test_a_typed_sink_writes_the_same(spark: SparkSession, tmp_path: Path) -> None:
    FilesSink(path=str(tmp_path / "rows"), file_format="parquet").write(rows(spark))
    assert listed(tmp_path / "rows") == ROWS


def test_at_least_once_shows_files_without_a_commit(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    by_write(spark, folder, {"deliveryGuarantee": "at-least-once"}, tmp_path)
    assert not (folder / "_manifest").exists()
    assert spark.read.schema(COLUMNS).json(str(folder)).count() == len(ROWS)


def test_a_micro_batch_that_only_spark_has_not_noted_is_not_shown_again(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    by_write_stream(spark, folder, {}, tmp_path)
    last = max(int(path.name) for path in (tmp_path / "checkpoint" / "commits").iterdir() if path.name.isdecimal())
    for name in (str(last), f".{last}.crc"):
        (tmp_path / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    by_write_stream(spark, folder, {}, tmp_path)
    assert listed(folder) == ROWS


FAIL_ONCE = """
def fail_once(batches):
    import os
    from pathlib import Path
    for batch in batches:
        yield batch
    flag = Path({flag!r})
    if not flag.exists():
        flag.touch()
        raise RuntimeError("a task that fails after its rows are written")
"""


def test_what_a_failed_attempt_of_a_task_has_left_is_neither_shown_nor_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    names: dict[str, Any] = {}
    exec(FAIL_ONCE.format(flag=str(tmp_path / "flag")), names)
    failing = rows(spark).mapInArrow(names["fail_once"], COLUMNS)
    failing.write.format(DOOR).mode("append").save(str(tmp_path / "rows"))
    assert (tmp_path / "flag").exists()
    assert listed(tmp_path / "rows") == ROWS
    assert not (tmp_path / "rows" / "_asyncsink").exists()


def test_a_failed_job_shows_nothing(spark: SparkSession, tmp_path: Path) -> None:
    failing = rows(spark).selectExpr("*", "IF(id = 29, raise_error('no more'), id) AS checked")
    with pytest.raises(PySparkException, match="no more"):
        failing.write.format(DOOR).mode("append").save(str(tmp_path / "rows"))
    assert read_manifest(tmp_path / "rows") == []
    assert [*(tmp_path / "rows").glob("[!_]*")] == []


def test_columns_that_no_file_can_hold_are_refused_when_the_job_is_planned(spark: SparkSession, tmp_path: Path) -> None:
    unfit = rows(spark).selectExpr("*", "INTERVAL '1' DAY AS span")
    with pytest.raises(PySparkException, match="column 'span' is of type interval day"):
        unfit.write.format(DOOR).option("fileFormat", "parquet").mode("append").save(str(tmp_path / "rows"))


def test_a_stream_whose_folder_cannot_be_written_to_says_why(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("a file")
    with pytest.raises(StreamingQueryException, match="a file stands where a folder belongs"):
        by_write_stream(spark, tmp_path / "rows", {}, tmp_path)
    (tmp_path / "rows").unlink()
    by_write_stream(spark, tmp_path / "rows", {}, tmp_path)
    assert listed(tmp_path / "rows") == ROWS
