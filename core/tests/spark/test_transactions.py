"""Sinks with committers through Spark: each row is visible once, whatever is repeated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from asyncsink.ledger import FOLDER, open_store
from asyncsink.transactions.log import Decision, TransactionLog

Lines = Callable[[Sequence[Sequence[str]]], DataFrame]
DOOR = "asyncsink.staging"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "destination"


@pytest.fixture
def options(folder: Path) -> dict[str, str]:
    return {"folder": str(folder)}


@pytest.fixture
def three(lines: Lines) -> DataFrame:
    """Three micro-batches of two rows."""
    return lines([["0", "1"], ["2", "3"], ["4", "5"]]).selectExpr("CAST(value AS BIGINT) AS id")


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """Six rows in three partitions."""
    return spark.range(0, 6, 1, 3)


def visible(folder: Path) -> list[int]:
    texts = [path.read_text() for path in sorted((folder / "visible").glob("*"))]
    return sorted(json.loads(line)["id"] for text in texts for line in text.splitlines())


def staged(folder: Path) -> list[str]:
    return [path.name for path in (folder / "staged").glob("*")]


def events(folder: Path) -> list[str]:
    return [line.split()[0] for line in (folder / "events").read_text().splitlines()]


def last_decision(location: Path) -> Decision:
    log = TransactionLog(open_store(str(location)).within(FOLDER).within("staging"))
    decision = log.decision(log.generations().done)
    assert decision is not None
    return decision


def test_a_stream_commits_each_micro_batch_once(
    three: DataFrame, run_stream: Callable[..., None], options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    run_stream(three, DOOR, **options)
    assert visible(folder) == [*range(6)]
    assert staged(folder) == []
    decision = last_decision(tmp_path / "checkpoint")
    assert (decision.batch_id, decision.after.batch_id, decision.note["progress"]["rows_in"]) == (2, 2, 2)


def test_a_batch_that_only_spark_has_not_noted_is_not_committed_again(
    three: DataFrame, run_stream: Callable[..., None], options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    run_stream(three, DOOR, **options)
    for name in ("2", ".2.crc"):
        (tmp_path / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    run_stream(three, DOOR, **options)
    assert visible(folder) == [*range(6)]
    assert events(folder).count("commit") == 3


def test_a_commit_that_failed_after_it_was_decided_is_finished_by_the_next_run(
    three: DataFrame, run_stream: Callable[..., None], options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    folder.mkdir()
    (folder / "fail-the-commit").touch()
    with pytest.raises(StreamingQueryException, match="the destination is away"):
        run_stream(three, DOOR, **options)
    assert visible(folder) == []
    assert len(staged(folder)) == 1
    run_stream(three, DOOR, **options)
    assert visible(folder) == [*range(6)]
    assert "abort" not in events(folder)


def test_what_a_destination_has_lost_as_a_whole_is_written_again(
    three: DataFrame, run_stream: Callable[..., None], options: dict[str, str], folder: Path
) -> None:
    folder.mkdir()
    (folder / "fail-the-commit").touch()
    with pytest.raises(StreamingQueryException):
        run_stream(three, DOOR, **options)
    shutil.rmtree(folder / "staged")
    run_stream(three, DOOR, **options)
    assert visible(folder) == [*range(6)]


def test_a_stream_without_a_checkpoint_that_the_sink_can_see_is_refused(
    three: DataFrame, options: dict[str, str], tmp_path: Path, folder: Path, spark: SparkSession
) -> None:
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "of the session"))
    try:
        query = three.writeStream.format(DOOR).options(**options).trigger(availableNow=True).start()
        with pytest.raises(
            StreamingQueryException, match=r"was given no checkpointLocation.*'staging' delivers exactly"
        ):
            query.awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert not folder.exists()


def test_the_checkpoint_of_another_query_is_refused(
    three: DataFrame, run_stream: Callable[..., None], options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    run_stream(three, DOOR, **options)
    with pytest.raises(StreamingQueryException, match=r"is that of query .*, but this is query"):
        run_stream(three, DOOR, checkpoint="another", ledgerLocation=str(tmp_path / "checkpoint"), **options)
    assert visible(folder) == [*range(6)]


@pytest.mark.parametrize("with_state", [False, True])
def test_a_batch_job_is_committed_once_after_its_last_task(
    rows: DataFrame, options: dict[str, str], folder: Path, tmp_path: Path, with_state: bool
) -> None:
    if with_state:
        options["stateLocation"] = str(tmp_path / "state")
    rows.write.format(DOOR).options(**options).mode("append").save()
    assert visible(folder) == [*range(6)]
    assert staged(folder) == []
    assert events(folder).count("commit") == 1


def test_a_job_that_fails_leaves_nothing_visible(spark: SparkSession, options: dict[str, str], folder: Path) -> None:
    rows = spark.range(0, 6, 1, 3).selectExpr("id", "CASE WHEN id = 5 THEN 'poison' ELSE 'fine' END AS text")
    with pytest.raises(PythonException, match="poison"):
        rows.write.format(DOOR).options(**options).mode("append").save()
    assert visible(folder) == []
    assert staged(folder) == []
    assert "abort" in events(folder)


def test_a_job_by_a_name_that_was_committed_is_not_written_again(
    rows: DataFrame, spark: SparkSession, options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    options["stateLocation"] = str(tmp_path / "state")
    for name in ("monday", "tuesday", "monday"):
        rows.write.format(DOOR).options(**options, jobId=name).mode("append").save()
    assert visible(folder) == sorted([*range(6)] * 2)
    assert last_decision(tmp_path / "state").note["jobs"] == ["monday", "tuesday"]


def test_a_job_that_was_prepared_is_finished_by_its_rerun(
    rows: DataFrame, options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    options |= {"stateLocation": str(tmp_path / "state"), "jobId": "monday"}
    folder.mkdir()
    (folder / "fail-the-commit").touch()
    with pytest.raises(Exception, match="the destination is away"):
        rows.write.format(DOOR).options(**options).mode("append").save()
    assert visible(folder) == []
    rows.write.format(DOOR).options(**options).mode("append").save()
    assert visible(folder) == [*range(6)]


def test_a_commit_that_failed_without_a_state_is_not_given_up_in_part(
    rows: DataFrame, options: dict[str, str], folder: Path
) -> None:
    """Spark asks for an abort in another process, which cannot tell what is committed already."""
    folder.mkdir()
    (folder / "fail-the-commit").touch()
    with pytest.raises(PySparkException, match=r"the destination is away; a part of it may be committed"):
        rows.write.format(DOOR).options(**options).mode("append").save()
    assert len(staged(folder)) == 3
    assert "abort" not in events(folder)
    rows.write.format(DOOR).options(**options).mode("append").save()
    assert visible(folder) == [*range(6)]


def test_sql_inserts_into_it(spark: SparkSession, options: dict[str, str], folder: Path) -> None:
    spark.sql(f"CREATE TABLE staged_rows (id BIGINT) USING {DOOR}")
    try:
        spark.sql(f"INSERT INTO staged_rows WITH ('folder' = '{options['folder']}') SELECT id FROM range(6)")
    finally:
        spark.sql("DROP TABLE staged_rows")
    assert visible(folder) == [*range(6)]


def test_two_attempts_at_one_partition_are_committed_once(
    spark: SparkSession, options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    """The first attempt of each task fails after its rows, so that what it has written must count for nothing."""
    marker = str(tmp_path / "first")

    def fail_once(batches: Any) -> Any:
        from pathlib import Path

        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        if task is not None and task.attemptNumber() == 0:
            path = Path(f"{marker}-{task.partitionId()}")
            if not path.exists():
                path.touch()
                raise RuntimeError("the first attempt fails")

    rows = spark.range(0, 6, 1, 2).mapInArrow(fail_once, "id bigint")
    rows.write.format(DOOR).options(**options).mode("append").save()
    assert visible(folder) == [*range(6)]
    assert staged(folder) == []


def test_no_two_runs_of_tasks_give_their_names_the_same_attempt(
    rows: DataFrame, options: dict[str, str], folder: Path
) -> None:
    """Spark counts attempts from 0 again where it repeats a stage, and a task of the first may still be writing."""
    for _ in range(2):
        rows.write.format(DOOR).options(**options).mode("append").save()
    attempts = [path.name.split("-")[3] for path in (folder / "visible").iterdir()]
    assert len(set(attempts)) == len(attempts) == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"jobId": "monday"}, "option 'jobId' needs a stateLocation"),
        ({"commitTimeout": "0s"}, r"option 'commitTimeout' = 0 s; it must be more than 0"),
        ({"jobId": "monday", "stateLocation": "x", "guarantee": "none"}, "'staging' delivers at least once"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    rows: DataFrame, options: dict[str, str], given: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        rows.write.format(DOOR).options(**{**options, **given}).mode("append").save()


def test_a_sink_without_a_committer_pays_for_none(
    three: DataFrame, run_stream: Callable[..., None], options: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    run_stream(three, DOOR, guarantee="none", **options)
    assert visible(folder) == [*range(6)]
    assert not (tmp_path / "checkpoint" / FOLDER / "staging" / "transactions").exists()
