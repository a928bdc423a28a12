"""When a planner has what dead attempts have left removed, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import types as t

from asyncsink.spark import transactions
from asyncsink.spark.planning import plan_sink
from asyncsink_testing.staged_sink import StagedSink, StagingArea

IDS = t.StructType([t.StructField("id", t.LongType(), False)])


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(transactions, "_swept", set())
    monkeypatch.setattr(transactions, "gettempdir", lambda: str(tmp_path))


def test_each_job_with_a_log_of_its_own_has_what_others_have_left_looked_at() -> None:
    """By it a sink also finds that another query is at work where it may not be."""
    area = StagingArea()
    for _ in range(2):
        plan = plan_sink("orders", StagedSink(area), {}, IDS, overwrite=False, streaming=False)
        transactions.abort(plan, transactions.begin(plan), [])
    assert area.events.count("sweep") == 2
