"""Kill and replay, through Spark: what loses acknowledged rows is found out, and so is what doubles them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from asyncsink_testing.chaos import TARGETS, Campaign
from asyncsink_testing.chaos.schedule import Kill
from asyncsink_testing.chaos.targets import EFFECTIVELY_ONCE

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


@pytest.mark.asyncsink_spark
@pytest.mark.timeout(300)
def test_without_deterministic_batching_the_replay_after_a_kill_doubles_rows(tmp_path: Path) -> None:
    options = {**TARGETS["http"].options("{}", EFFECTIVELY_ONCE), "batching": "eager"}
    eager = replace(
        TARGETS["http"],
        options=lambda endpoint, guarantee: {**options, "url": options["url"].format(endpoint)},
    )
    kills = [Kill(1, "driver", "write")]
    outcome = Campaign(eager, EFFECTIVELY_ONCE, kills, 1, tmp_path / "run", lambda line: None).run()
    assert outcome.missing == 0
    assert outcome.duplicates > 0
