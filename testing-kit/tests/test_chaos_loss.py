"""Kill and replay, through Spark: a destination that loses what it has acknowledged is found out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from asyncsink_testing.chaos import TARGETS, Campaign
from asyncsink_testing.chaos.schedule import Kill

CONNECTORS = Path(__file__).with_name("connectors")


@pytest.mark.asyncsink_spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("sink", "service"),
    [("http", "forgetful_service"), ("kafka", "forgetful_broker"), ("kinesis", "forgetful_stream")],
)
def test_rows_that_a_killed_destination_has_forgotten_are_missing(
    sink: str, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [str(CONNECTORS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(known))
    target = replace(TARGETS[sink], service=service)
    told: list[str] = []
    # The rows of the first micro-batch are committed by the second, so that no replay brings them back.
    kills = [Kill(1, "worker", "write"), Kill(2, "destination", "write")]
    outcome = Campaign(target, "at-least-once", kills, 1, tmp_path / "run", told.append).run()
    assert outcome.missing > 0
    assert f"{outcome.missing} rows are missing" in next(outcome.faults())
    assert "kill 2: destination, write of micro-batch" in told[1]
