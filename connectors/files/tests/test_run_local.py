"""Files by run_local: each element once, wherever a run is killed, and nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink import CommitError, LedgerError
from asyncsink_files import FilesSink, read_manifest

from .reading import hidden, rows_in, rows_listed, rows_of, shown
from .trial import ROWS, Trial, run

KINDS: dict[str, dict[str, Any]] = {
    "json": {},
    "small gzipped json": {"compression": "gzip", "max_file_size": 100},
    "parquet": {"file_format": "parquet"},
}


@pytest.mark.parametrize("every", [None, 1, 3, 10, 50])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_all_elements_are_shown_and_listed_once(tmp_path: Path, options: dict[str, Any], every: int | None) -> None:
    folder = tmp_path / "rows"
    assert run(FilesSink(path=str(folder), **options), tmp_path / "state", every=every).position == len(ROWS)
    assert rows_in(folder) == ROWS
    assert rows_listed(folder) == ROWS
    assert hidden(folder) == []


def test_a_file_of_json_lines_stays_open_over_commits_and_one_of_parquet_does_not(tmp_path: Path) -> None:
    for kind, files in (("json", 1), ("parquet", 4)):
        folder = tmp_path / kind
        run(FilesSink(path=str(folder), file_format=kind), tmp_path / f"state of {kind}", every=3)
        assert len(shown(folder)) == files


def test_without_a_manifest_nothing_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    run(FilesSink(path=str(folder), manifest=False), tmp_path / "state", every=3)
    assert rows_in(folder) == ROWS
    assert read_manifest(folder) == []
    assert not (folder / "_manifest").exists()


def test_at_least_once_needs_no_commit(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    sink = FilesSink(path=str(folder), delivery_guarantee="at-least-once")
    assert run(sink, tmp_path / "state", every=4).position == len(ROWS)
    assert rows_in(folder) == ROWS
    assert len(shown(folder)) == 3
    assert hidden(folder) == []


def test_a_second_run_adds_only_what_follows(tmp_path: Path) -> None:
    sink = FilesSink(path=str(tmp_path / "rows"))
    run(sink, tmp_path / "state", ROWS[:4])
    run(sink, tmp_path / "state")
    run(sink, tmp_path / "state")
    assert [len(rows_of(path)) for path in shown(tmp_path / "rows")] == [4, 6]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_a_run_that_is_killed_at_any_point_is_finished_by_the_next(tmp_path: Path, options: dict[str, Any]) -> None:
    passed = Trial(tmp_path / "whole", options).attempt()
    assert {point.split(" ")[1] for point in passed} >= {"beginning", "the", "syncing", "renaming", "creating"}
    for kill_at in range(len(passed)):
        trial = Trial(tmp_path / str(kill_at), options)
        assert len(trial.attempt(kill_at)) == kill_at
        trial.attempt()
        trial.check()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([*KINDS]), st.lists(st.integers(0, 110), min_size=2, max_size=4))
def test_so_is_one_whose_successors_are_killed_too(
    tmp_path_factory: pytest.TempPathFactory, kind: str, kills: list[int]
) -> None:
    trial = Trial(tmp_path_factory.mktemp("run"), KINDS[kind])
    for kill_at in kills:
        trial.attempt(kill_at)
    trial.attempt()
    trial.check()


def killed(tmp_path: Path, before: str, **options: Any) -> Trial:
    """A trial that was killed before it did this for the first time."""
    passed = Trial(tmp_path / "looked at", options).attempt()
    trial = Trial(tmp_path / "trial", options)
    trial.attempt(next(number for number, point in enumerate(passed) if point.startswith(f"before {before}")))
    return trial


def killed_before_the_commit(tmp_path: Path, **options: Any) -> Trial:
    """A trial whose first commit was decided, and not carried out."""
    trial = killed(tmp_path, "renaming", **options)
    assert shown(trial.rows) == []
    return trial


def killed_with_a_state(tmp_path: Path, **options: Any) -> Trial:
    """A trial with an open file in the state of its last commit, to which more was written."""
    return killed(tmp_path, "creating slot-2", **options)


def test_what_was_pending_is_committed_though_the_options_are_others_now(tmp_path: Path) -> None:
    trial = killed_before_the_commit(tmp_path)
    trial.options = {"file_format": "parquet", "file_prefix": "later"}
    trial.attempt()
    trial.check()


def test_an_open_file_of_another_format_is_finished_as_it_is(tmp_path: Path) -> None:
    trial = killed_with_a_state(tmp_path, compression="gzip")
    trial.options = {}
    trial.attempt()
    trial.check()
    assert {"".join(path.suffixes) for path in shown(trial.rows)} == {".json.gz", ".json"}


def test_a_batch_whose_pending_files_are_all_gone_is_written_again(tmp_path: Path) -> None:
    trial = killed_before_the_commit(tmp_path, file_format="parquet")
    for path in set(hidden(trial.rows)) - set(trial.foreign):
        path.unlink()
    trial.attempt()
    trial.check()


def test_a_batch_of_which_a_part_is_gone_is_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    trial = killed_before_the_commit(tmp_path, file_format="json", max_file_size=50)
    (lost, *others) = sorted(set(hidden(trial.rows)) - set(trial.foreign))
    lost.unlink()
    with pytest.raises(CommitError, match=rf"has lost 1 of 2 committables .*{lost.name} is not in .*remove slot-1"):
        trial.attempt()
    assert sum(len(rows_of(path)) for path in shown(trial.rows)) == 2 * len(others) == 2


def test_a_state_whose_file_is_gone_says_so(tmp_path: Path) -> None:
    trial = killed_with_a_state(tmp_path)
    for path in set(hidden(trial.rows)) - set(trial.foreign):
        path.unlink()
    with pytest.raises(LedgerError, match=r"the state of a writer names the file _asyncsink/.*: \d rows .* are lost"):
        trial.attempt()


def test_two_sinks_on_one_folder_do_not_know_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    for state, rows in (("one", ROWS[:3]), ("two", ROWS[3:6]), ("one", ROWS[:3]), ("three", ROWS[6:])):
        run(FilesSink(path=str(folder)), tmp_path / state, rows)
    assert rows_in(folder) == rows_listed(folder) == ROWS
    assert len([*(folder / "_manifest").iterdir()]) == 3
