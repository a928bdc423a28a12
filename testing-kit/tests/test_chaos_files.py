"""Files as the harness of kills reads them back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.files_folder import NAME, FolderReader
from asyncsink_testing.chaos.source import Row, row

SINK = "_asyncsink/0123456789abcdef"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / NAME / SINK).mkdir(parents=True)
    return tmp_path / NAME


def write(path: Path, rows: Sequence[Row], cut: int = 0) -> None:
    """Add rows to a file, less so many bytes at the end."""
    data = "".join(f"{json.dumps(each)}\n" for each in rows).encode()
    with path.open("ab") as opened:
        opened.write(data[: len(data) - cut])


def listed(files: Path, *names: str) -> None:
    folder = files / "_manifest"
    folder.mkdir(exist_ok=True)
    version = len([*folder.iterdir()])
    (folder / f"{version:020}.json").write_text(json.dumps({"files": [{"path": name} for name in names]}))


def test_rows_are_seen_once_from_their_first_byte_on_under_whatever_name(files: Path, tmp_path: Path) -> None:
    reader = FolderReader(tmp_path)
    assert reader.fresh() == []
    hidden = files / SINK / "0123456789abcdef-1-0-0-00"
    write(hidden, [row(0), row(1)])
    assert reader.fresh() == [row(0), row(1)]
    write(hidden, [row(2)])
    hidden.rename(files / f"part-{hidden.name}.json")
    assert reader.fresh() == [row(2)]
    assert reader.fresh() == []


def test_a_file_that_has_the_inode_of_one_that_was_swept_is_read_from_its_beginning(
    files: Path, tmp_path: Path
) -> None:
    reader = FolderReader(tmp_path)
    swept, later = (files / SINK / f"0123456789abcdef-{generation}-0-0-00" for generation in (1, 2))
    write(swept, [row(0), row(1)])
    assert reader.fresh() == [row(0), row(1)]
    later.hardlink_to(swept)
    swept.unlink()
    assert reader.fresh() == [row(0), row(1)]


def test_a_line_that_is_half_written_is_not_read_yet(files: Path, tmp_path: Path) -> None:
    reader = FolderReader(tmp_path)
    hidden = files / SINK / "0123456789abcdef-1-0-0-00"
    write(hidden, [row(0)], cut=3)
    assert reader.fresh() == []
    whole = (json.dumps(row(0)) + "\n").encode()
    with hidden.open("ab") as opened:
        opened.write(whole[-3:])
    assert reader.fresh() == [row(0)]


def test_a_folder_that_comes_and_goes_is_none_when_it_has_gone(files: Path, tmp_path: Path) -> None:
    reader, over = FolderReader(tmp_path), Event()

    def come_and_go() -> None:
        while not over.is_set():
            (files / SINK).rmdir()
            (files / SINK).parent.rmdir()
            (files / SINK).mkdir(parents=True)

    with ThreadPoolExecutor(1) as commits:
        done = commits.submit(come_and_go)
        try:
            seen = [row for _ in range(2000) for row in reader.fresh()]
        finally:
            over.set()
        done.result()
    assert seen == []


def test_only_what_is_shown_counts_in_the_end(files: Path, tmp_path: Path) -> None:
    write(files / SINK / "0123456789abcdef-2-0-0-00", [row(9)])
    write(files / "part-0.json", [row(0), row(1)])
    write(files / "part-1.json", [row(1)])
    listed(files, "part-0.json")
    listed(files, "part-1.json")
    assert sorted(each["id"] for each in FolderReader(tmp_path).everything()) == [0, 1, 1]


@pytest.mark.parametrize("names", [[], ["part-0.json", "part-0.json"], ["part-0.json", "part-1.json"]])
def test_a_manifest_that_lists_other_files_is_an_error(files: Path, tmp_path: Path, names: list[str]) -> None:
    write(files / "part-0.json", [row(0)])
    listed(files, *names)
    with pytest.raises(ChaosError, match=f"the manifest lists {len(names)} files, and 1 are shown, or others"):
        FolderReader(tmp_path).everything()
