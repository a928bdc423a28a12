"""What Spark's plans show of options: they are Spark's own text, so these tests say what is true of each release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from asyncsink.options import WriterOptions
from asyncsink.options.door import DoorOptions
from asyncsink.plugins import load_options
from asyncsink_http import HttpSink
from asyncsink_testing.http_server import serving

Lines = Callable[[Sequence[Sequence[str]]], DataFrame]

REDACTION = "spark.sql.redaction.options.regex"
HIDING = "(?i)url|header"
"""As the guide to Spark's doors has it: Spark's own default, and what that leaves."""


@pytest.fixture
def hiding_headers(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(REDACTION, HIDING)
    yield
    spark.conf.unset(REDACTION)


def plans_of(stream: Any, tmp_path: Path) -> str:
    """Every plan of the last micro-batch, after the stream has written what it holds."""
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    plans: str = query._jsq.explainInternal(True)
    assert "WriteToMicroBatchDataSource" in plans
    return plans


def plan_of_a_view(spark: SparkSession) -> str:
    """The plan of a statement that names options, which every release of Spark shows in it."""
    options = "`header.X-Api-Key` 'hushhush', bearerToken 'psssst'"
    (row,) = spark.sql(
        f"EXPLAIN EXTENDED CREATE TEMPORARY VIEW hidden (id BIGINT) USING asyncsink.http OPTIONS ({options})"
    ).collect()
    plan: str = row[0]
    assert "asyncsink.http" in plan
    return plan


def test_the_plans_of_a_stream_by_name_hide_its_token(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        stream = lines([["1"]]).writeStream.format("asyncsink.http").option("url", server.url)
        assert "hushhush" not in plans_of(stream.option("bearerToken", "hushhush"), tmp_path)
        assert [request.headers["authorization"] for request in server.stored] == ["Bearer hushhush"]


@pytest.mark.usefixtures("hiding_headers")
def test_the_plans_of_a_stream_by_name_hide_headers_where_spark_is_told_to(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        stream = lines([["1"]]).writeStream.format("asyncsink.http").option("url", server.url)
        assert "hushhush" not in plans_of(stream.option("header.X-Api-Key", "hushhush"), tmp_path)
        assert [request.headers["x-api-key"] for request in server.stored] == ["hushhush"]


def test_the_plans_of_a_sink_that_a_program_has_made_hide_its_headers(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        sink = HttpSink(url=server.url, headers={"X-Api-Key": "hushhush"})
        assert "hushhush" not in plans_of(sink.write_stream(lines([["1"]])), tmp_path)
        assert [request.headers["x-api-key"] for request in server.stored] == ["hushhush"]


def test_spark_shows_headers_that_are_given_by_name_unless_it_is_told_otherwise(
    spark: SparkSession, request: pytest.FixtureRequest
) -> None:
    shown = plan_of_a_view(spark)
    assert "hushhush" in shown
    assert "psssst" not in shown
    request.getfixturevalue("hiding_headers")
    hidden = plan_of_a_view(spark)
    assert "hushhush" not in hidden
    assert "psssst" not in hidden


def test_every_secret_option_has_a_name_that_spark_hides_or_is_told_to() -> None:
    sections = (DoorOptions, WriterOptions, load_options("http"))
    secrets = [row for section in sections for row in section.describe() if row.secret]
    names = {name for row in secrets for name in (row.name, *row.aliases)}
    assert {"bearerToken", "password"} <= names
    # The default of spark.redaction.regex since Spark 4.0.
    left = {name for name in names if not re.search("(?i)secret|password|token|access[.]?key", name)}
    assert left == {"header.", "http.sink.header.", "request.headers."}
    assert [name for name in left if not re.search(HIDING, name)] == []
