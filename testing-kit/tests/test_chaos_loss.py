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
def test_rows_that_a_killed_destination_has_forgotten_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [str(CONNECTORS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(known))
    target = replace(TARGETS["http"], service="forgetful_service")
    told: list[str] = []
    kills = [Kill(1, "destination", "write")]
    outcome = Campaign(target, "at-least-once", kills, 1, tmp_path / "run", told.append).run()
    assert outcome.missing > 0
    assert f"{outcome.missing} rows are missing" in next(outcome.faults())
    assert "kill 1: destination, write of micro-batch" in told[0]
