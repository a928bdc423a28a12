"""Kill and replay, through Spark: short campaigns against destinations that lose nothing find nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.asyncsink_spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("sink", "guarantee", "kills"),
    [("http", "at-least-once", 10), ("kafka", "at-least-once", 5), ("files", "exactly-once", 5)],
)
def test_a_campaign_ends_with_each_row_as_the_guarantee_has_it(sink: str, guarantee: str, kills: int) -> None:
    """What the command says, its seed at first, is shown with the test's outcome."""
    options = ["--sink", sink, "--guarantee", guarantee, "--kills", str(kills)]
    command = [sys.executable, "-m", "asyncsink_testing.chaos", *options]
    assert subprocess.run(command, check=False).returncode == 0
