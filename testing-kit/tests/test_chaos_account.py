"""Kill and replay: the schedule of kills, what is seen from outside, and the account of the rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from asyncsink_testing.chaos.campaign import Campaign
from asyncsink_testing.chaos.outcome import Hit, Outcome, account
from asyncsink_testing.chaos.progress import Moment, Progress
from asyncsink_testing.chaos.schedule import Aim, Kill, schedule
from asyncsink_testing.chaos.source import ROWS, Source, batch_of, row
from asyncsink_testing.chaos.targets import TARGETS, Target

VICTIMS = {"worker", "driver", "destination", "planner", "commit process"}


# ---- the schedule ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [1, 4, 5, 10, 13, 50, 200])
def test_at_least_half_of_the_kills_are_meant_for_a_write_and_a_fifth_for_a_commit(kills: int) -> None:
    aims = Counter(each.aim for each in schedule(kills, Random(kills)))
    assert sum(aims.values()) == kills
    assert aims["write"] >= kills / 2
    assert kills < 4 or aims["commit"] >= kills / 5


@pytest.mark.parametrize("kills", [5, 10, 50])
def test_every_kind_of_process_is_killed(kills: int) -> None:
    victims = Counter(each.victim for each in schedule(kills, Random(1)))
    assert set(victims) == VICTIMS
    assert victims["driver"] <= kills * 0.3


def test_what_cannot_be_killed_is_not_scheduled() -> None:
    victims = TARGETS["files"].victims
    assert {each.victim for each in schedule(50, Random(1), victims)} == {*VICTIMS} - {"destination"}


def test_the_seed_decides_on_the_schedule() -> None:
    assert schedule(20, Random(3)) == schedule(20, Random(3)) != schedule(20, Random(4))


# ---- the source --------------------------------------------------------------------------------------------------


def test_each_file_of_the_source_is_a_micro_batch_of_its_own_rows(tmp_path: Path) -> None:
    source = Source(tmp_path / "source")
    assert [source.feed(), source.feed()] == [0, 1]
    files = sorted((tmp_path / "source").iterdir(), key=lambda each: each.stat().st_mtime)
    assert [each.name for each in files] == ["00000.json", "00001.json"]
    assert source.expected == 2 * ROWS == sum(len(each.read_text().splitlines()) for each in files)
    assert {batch_of(number) for number in range(ROWS, 2 * ROWS)} == {1}


# ---- the run -----------------------------------------------------------------------------------------------------


class WithoutPlanner(Campaign):
    """The only micro-batch is committed while the run waits, and the process to kill comes with the next one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(TARGETS["http"], "at-least-once", [], 1, folder, lambda line: None)
        self._commits = folder / "checkpoint" / "commits"
        self._commits.mkdir(parents=True)
        self._source.feed()

    def hit(self) -> int:
        """The micro-batch that was fed last when a planner was there."""
        self._at_any_instant(Kill(1, "planner", "any"))
        return self._batch

    def _pause(self, longest_s: float) -> None:
        (self._commits / "0").touch()

    def _strike(self, planned: Kill, wanted: Aim = "any") -> list[Moment]:
        return ["planning"] if self._batch > 0 else []

    def _check_alive(self) -> None:
        """Nothing runs."""


def test_a_process_that_comes_with_a_micro_batch_is_not_waited_for_without_one(tmp_path: Path) -> None:
    assert WithoutPlanner(tmp_path).hit() == 1


# ---- progress ----------------------------------------------------------------------------------------------------


class Outside:
    """A checkpoint and a destination, as files and a list."""

    def __init__(self, folder: Path) -> None:
        self._checkpoint = folder / "checkpoint"
        self._rows: list[dict[str, Any]] = []
        self.progress = Progress(self, folder)

    def fresh(self) -> list[dict[str, Any]]:
        rows, self._rows = self._rows, []
        return rows

    def everything(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def mark(self, kind: str, batch: int) -> None:
        (self._checkpoint / kind).mkdir(parents=True, exist_ok=True)
        (self._checkpoint / kind / str(batch)).touch()

    def clear(self, kind: str, batch: int) -> None:
        (self._checkpoint / kind / str(batch)).unlink()

    def store(self, count: int, *others: dict[str, Any]) -> None:
        self._rows += [row(number) for number in range(count)] + list(others)
        self.progress.look()


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    return Outside(tmp_path)


def test_a_micro_batch_goes_from_planning_over_write_to_commit(outside: Outside) -> None:
    seen = [outside.progress.moment(0)]
    outside.mark("offsets", 0)
    seen.append(outside.progress.moment(0))
    for count in (5, ROWS):
        outside.store(count)
        seen.append(outside.progress.moment(0))
    outside.mark("commits", 0)
    assert [*seen, outside.progress.moment(0)] == ["between", "planning", "write", "commit", "between"]


def test_a_commit_that_spark_has_cleared_away_stays_one(outside: Outside) -> None:
    outside.mark("commits", 0)
    assert outside.progress.is_committed(0)
    outside.clear("commits", 0)
    assert outside.progress.is_committed(0)
    assert not outside.progress.is_committed(1)


def test_rows_that_arrive_again_do_not_look_like_new_ones(outside: Outside) -> None:
    outside.mark("offsets", 0)
    outside.store(ROWS - 1)
    outside.store(ROWS - 1)
    assert outside.progress.arrived(0) == ROWS - 1


@pytest.mark.parametrize("strange", [{"id": None}, {"id": "1"}, {"text": "row 1"}])
def test_what_is_no_row_is_passed_over_by_the_progress(outside: Outside, strange: dict[str, Any]) -> None:
    outside.mark("offsets", 0)
    outside.store(2, strange)
    assert outside.progress.arrived(0) == 2


def test_a_micro_batch_that_was_hit_is_a_replay_until_it_is_committed(outside: Outside) -> None:
    outside.mark("offsets", 0)
    outside.store(5)
    outside.progress.hit(0)
    assert outside.progress.moment(0) == "replay"
    outside.mark("commits", 0)
    assert outside.progress.moment(0) == "between"


# ---- the account -------------------------------------------------------------------------------------------------

HITS = [Hit("worker", "write"), Hit("driver", "write"), Hit("planner", "commit")]


def outcome(stored: list[dict[str, Any]], guarantee: str = "at-least-once", hits: list[Hit] = HITS) -> Outcome:
    return account("http", guarantee, hits, 4, stored)


def test_the_last_line_counts_what_is_missing_and_doubled() -> None:
    told = outcome([row(0), row(1), row(1), row(1), row(3)])
    assert told.line == "sink http guarantee at-least-once kills 3 expected 4 read 5 missing 1 duplicates 2"
    assert list(told.faults()) == ["1 rows are missing, row 2 is the first; of the micro-batches 0"]


def test_duplicates_fail_only_where_exactly_once_was_asked_for() -> None:
    stored = [row(number) for number in (0, 1, 2, 3, 3)]
    assert list(outcome(stored).faults()) == []
    assert list(outcome(stored, "exactly-once").faults()) == ["1 rows stand in the destination more than once"]


@pytest.mark.parametrize(
    "strange", [{"id": 3, "text": "row 2 ✓"}, {"id": 4, "text": "row 4 ✓"}, {"text": "row 3 ✓"}, {"id": None}]
)
def test_a_row_that_the_source_does_not_hold_takes_no_row_s_place(strange: dict[str, Any]) -> None:
    told = outcome([row(0), row(1), row(2), strange])
    assert (told.missing, told.duplicates) == (1, 0)
    assert "1 rows arrived that the source does not hold, or changed" in list(told.faults())


def test_kills_that_hit_too_little_fail_the_run() -> None:
    stored = [row(number) for number in range(4)]
    [fault] = outcome(stored, hits=[*HITS, Hit("worker", "between"), Hit("worker", "replay")]).faults()
    assert fault == "only 2 of 5 kills hit a running write: that shows little"
    [fault] = outcome(stored, hits=HITS[:2]).faults()
    assert fault == "only 0 of 2 kills hit a running commit: that shows little"


def test_the_table_says_who_was_killed_when() -> None:
    lines = outcome([]).table().splitlines()
    assert lines[0].split() == ["killed", "planning", "write", "commit", "replay", "between"]
    assert [line.split() for line in lines[1:-1]] == [
        ["driver", "0", "1", "0", "0", "0"],
        ["planner", "0", "0", "1", "0", "0"],
        ["worker", "0", "1", "0", "0", "0"],
    ]
    assert lines[-1] == "of 3 kills 2 hit a running write, 1 a running commit"


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda each: each.name)
def test_every_target_has_options_for_each_guarantee_that_it_offers(target: Target) -> None:
    assert target.guarantees
    for guarantee in target.guarantees:
        assert all(isinstance(each, str) for each in target.options("http://localhost:1", guarantee).values())
