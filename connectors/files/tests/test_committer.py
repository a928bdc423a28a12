"""The committer: idempotent, thorough, and careful with what is not its own."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from asyncsink import CommitError, LostCommittablesError
from asyncsink_files.committable import OpenFile, PendingFile

from .job import Job
from .reading import hidden, rows_in, shown
from .writing import SINK_ID

OTHER_ID = "fedcba9876543210"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.fixture
def job(folder: Path) -> Job:
    return Job(folder)


def test_committing_again_changes_nothing(job: Job, folder: Path) -> None:
    files = job.prepared(1, [0, 1])
    assert job.commit(files) == []
    before = shown(folder)
    assert job.commit(files) == []
    assert shown(folder) == before
    assert [row["id"] for row in rows_in(folder)] == [0, 1]


def test_a_commit_that_was_cut_short_is_finished(job: Job, folder: Path) -> None:
    files = job.prepared(1, [0, 1, 2])
    job.commit(files[:1])
    job.commit(files)
    assert [row["id"] for row in rows_in(folder)] == [0, 1, 2]


def test_what_is_lost_is_told_after_all_others_are_committed(job: Job, folder: Path) -> None:
    files = job.prepared(1, [0, 1, 2])
    (folder / files[0].name).unlink()
    with pytest.raises(LostCommittablesError, match=rf"{files[0].name} is not in {folder} any more") as caught:
        job.commit(files)
    assert (caught.value.lost, caught.value.again) == ((files[0],), ())
    assert [row["id"] for row in rows_in(folder)] == [1, 2]


def test_where_the_whole_folder_is_gone_everything_is_lost(folder: Path) -> None:
    files = [PendingFile(f"_asyncsink/{SINK_ID}/{SINK_ID}-1-0-0-0123456789ab", "part-x.json", 1, 1)]
    with pytest.raises(LostCommittablesError):
        Job(folder).commit(files)


def test_files_that_are_given_up_are_removed(job: Job, folder: Path) -> None:
    files = job.prepared(1, [0, 1])
    anyio.run(job.committer().abort, files)
    anyio.run(job.committer().abort, files)
    assert hidden(folder) == []


def test_a_sweep_removes_what_earlier_attempts_have_left_and_nothing_else(job: Job, folder: Path) -> None:
    old, mine = job.prepared(1, [0]), job.prepared(3, [1])
    others = Job(folder, OTHER_ID).prepared(1, [2])
    foreign = [
        folder / "_asyncsink" / SINK_ID / name
        for name in ("notes.txt", f"{OTHER_ID}-1-0-0-0123456789ab", f"{SINK_ID}-1-0-0-0123456789ab.bak")
    ]
    beside = [folder / "part-mine.json", folder / "_asyncsink" / "loose", folder / "_asyncsink" / f"{SINK_ID}.tar"]
    for path in (*foreign, *beside):
        path.write_text("{}")
    job.sweep(3)
    assert not (folder / old[0].name).exists()
    assert all((folder / each.name).exists() for each in (*mine, *others))
    assert all(path.read_text() == "{}" for path in (*foreign, *beside))


def test_after_a_commit_a_sweep_removes_what_losing_attempts_of_it_have_left(job: Job, folder: Path) -> None:
    winner, loser = job.prepared(1, [0], attempt=1), job.prepared(1, [0], attempt=0)
    job.commit(winner)
    job.sweep(1)
    assert not (folder / loser[0].name).exists()
    assert [row["id"] for row in rows_in(folder)] == [0]
    assert not (folder / "_asyncsink").exists()


def test_before_it_a_sweep_leaves_what_is_prepared_alone(job: Job, folder: Path) -> None:
    """Another planner, which is about to be refused, must not spoil the batch of a live one."""
    files = job.prepared(2, [0])
    job.sweep(2)
    job.commit(files)
    assert [row["id"] for row in rows_in(folder)] == [0]


def test_a_zombies_sweep_leaves_later_attempts_alone(job: Job, folder: Path) -> None:
    job.commit(job.prepared(1, [0]))
    files = job.prepared(2, [1])
    job.sweep(1)
    job.commit(files)
    assert [row["id"] for row in rows_in(folder)] == [0, 1]


def test_a_sweep_keeps_what_a_state_needs(job: Job, folder: Path) -> None:
    (kept,) = job.prepared(1, [0])
    job.prepared(1, [1])
    job.sweep(5, [OpenFile(kept.name, kept.size_in_bytes, 1, ".json")])
    assert hidden(folder) == [folder / kept.name]


def test_an_empty_place_is_swept_without_a_trace(job: Job, folder: Path) -> None:
    job.sweep(1)
    assert not folder.exists()


def test_a_folder_that_cannot_be_renamed_into_says_so(job: Job, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = job.prepared(1, [0])

    def refuse(*_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(folder / files[0].final))

    monkeypatch.setattr("asyncsink_files.local.LocalStorage.show", refuse)
    with pytest.raises(CommitError, match=rf"cannot commit files in {folder}: Permission denied .*; let the user"):
        job.commit(files)
