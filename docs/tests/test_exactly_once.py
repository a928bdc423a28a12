"""What the page on exactly-once delivery says of the log is what the log does."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest

from asyncsink import run_local
from asyncsink.options.door import DoorOptions
from asyncsink.options.fields import option_fields
from asyncsink.spark.transactions import KEPT_JOBS
from asyncsink.transactions.coordinator import COMMIT_TIMEOUT_S
from asyncsink_kafka.transactions.committer import LEAST_LEFT
from asyncsink_kafka.transactions.naming import PLACES
from asyncsink_kafka.transactions.timeouts import USUAL_MAXIMUM_MS
from asyncsink_testing.staged_sink import StagedSink, StagingArea

PAGE = (Path(__file__).resolve().parents[1] / "explanation" / "exactly-once.md").read_text()


@pytest.mark.parametrize("publishes", [False, True])
def test_after_one_batch_the_log_holds_the_files_of_the_page(tmp_path: Path, publishes: bool) -> None:
    (listing,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    anyio.run(run_local, StagedSink(StagingArea(), publishes=publishes), ["one"], tmp_path)
    names = {path.name for path in (tmp_path / "transactions").iterdir()}
    assert names == {*listing.split()} | ({"global-1"} if publishes else set())


def test_the_options_of_the_page_exist_with_its_numbers() -> None:
    section = PAGE.partition("\n## The options\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named
    assert named <= {spelling.name for option in option_fields(DoorOptions) for spelling in option.spellings}
    assert f"the last {KEPT_JOBS} names" in section
    assert f"| {COMMIT_TIMEOUT_S:g} s: " in section


def test_the_numbers_of_kafka_are_those_of_its_connector() -> None:
    section = PAGE.partition("\n## Kafka\n")[2].partition("\n## ")[0]
    assert (PLACES, LEAST_LEFT, USUAL_MAXIMUM_MS) == (8, 0.1, 15 * 60_000)
    assert "from a pool of eight for each partition" in section
    assert "with a tenth of their timeout left" in section
    assert "a transaction of Kafka's for fifteen minutes by default" in PAGE
