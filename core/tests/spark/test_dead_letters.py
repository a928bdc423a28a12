"""Rows that an API refuses, from Spark into dead letters and back."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from asyncsink.dead_letters import read_dead_letters
from asyncsink.spark.commit import TaskCommit, commits, log_progress, summed
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving

HTTP = "asyncsink.http"


def refuse_sevens(request: HttpRequest) -> Reaction:
    """Refuses every request with a row that is a multiple of 7, as a whole."""
    return Reaction.refuse(400) if any(row["id"] % 7 == 0 for row in json.loads(request.body)) else Reaction.OK


def stored(server: FaultyHttpServer) -> list[int]:
    return sorted(row["id"] for request in server.stored for row in json.loads(request.body))


def test_good_rows_arrive_and_bad_ones_are_letters_for_python_and_for_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    with serving(refuse_sevens) as server:
        options: dict[str, Any] = {"onRejected": "dead_letter", "deadLetter.path": str(tmp_path), "maxRejected": "0.2"}
        rows = spark.range(1, 201, 1, 1)
        rows.write.format(HTTP).options(url=server.url, maxBatchSize=50, **options).mode("append").save()
        assert stored(server) == [row for row in range(1, 201) if row % 7]
    bad = [row for row in range(1, 201) if row % 7 == 0]
    letters = {(each.idempotency_id or "").rpartition("/")[2]: each for each in read_dead_letters(tmp_path)}
    # The place of a row in its partition is one less than the number that it holds.
    assert sorted(map(int, letters)) == [row - 1 for row in bad]
    assert {(each.reason, each.code, each.attempts, each.writer_id) for each in letters.values()} == {
        ("rejected", "400", 1, 0)
    }
    assert all(each.entry is not None and b'"id":' in each.entry for each in letters.values())
    read = spark.read.json(str(tmp_path)).selectExpr("CAST(unbase64(entry) AS STRING) entry", "reason", "code")
    found = {(row.reason, row.code) for row in read.collect()}
    assert (read.count(), found) == (len(bad), {("rejected", "400")})


def test_too_many_rejected_rows_fail_the_task_in_a_sentence(spark: SparkSession) -> None:
    with serving(refuse_sevens) as server:
        options = {"on_rejected": "drop", "max-rejected": "0.1", "maxBatchSize": "50"}
        writer = spark.range(1, 201, 1, 1).write.format(HTTP).options(url=server.url, **options).mode("append")
        with pytest.raises(PySparkException) as caught:
            writer.save()
    sentence = "TooManyRejectedError: 28 of 200 elements were rejected, more than max_rejected = 0.1; look at the dead"
    assert sentence in str(caught.value)


def test_a_stream_goes_on_past_bad_rows_with_the_path_alone(
    lines: Callable[[Sequence[Sequence[str]]], DataFrame], run_stream: Callable[..., None], tmp_path: Path
) -> None:
    with serving(refuse_sevens) as server:
        stream = lines([[f'{{"id":{row}}}' for row in range(first, first + 5)] for first in (1, 6)])
        dead = tmp_path / "dead"
        run_stream(stream, HTTP, url=server.url, **{"deadLetter.path": str(dead)})
        assert stored(server) == [1, 2, 3, 4, 5, 6, 8, 9, 10]
    (letter,) = read_dead_letters(dead)
    assert letter.batch_id == 1
    assert (letter.entry or b"").endswith(b'{"id":7}')
    assert letter.idempotency_id == f"{letter.query_id}/1/0/1"


def test_the_driver_tells_how_many_rows_were_given_up(caplog: pytest.LogCaptureFixture) -> None:
    tasks = [
        TaskCommit(0, rows_in=5, rows=2, requests=1, dead_lettered=3),
        TaskCommit(1, rows_in=3, dead_lettered=1, dropped=2),
    ]
    older = TaskCommit(2, rows_in=1, rows=1)
    for name in ("dead_lettered", "dropped"):
        older.__dict__.pop(name)
    with caplog.at_level(logging.INFO, "asyncsink"):
        log_progress(summed("toy", 7, commits([pickle.loads(pickle.dumps(task)) for task in [*tasks, older]])))
    assert "3 rows (0 bytes) stored by 1 requests of 3 tasks, 4 rows dead-lettered, 2 rows dropped; 0" in caplog.text
