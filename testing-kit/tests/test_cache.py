"""What is fetched once for each user."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asyncsink_testing.cache import kept


def make(folder: Path) -> Path:
    made = folder / "below" / "made"
    made.mkdir(parents=True)
    (made / "file").write_text("fetched")
    return made


def test_it_is_fetched_once_however_many_ask_at_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def fetch(folder: Path) -> Path:
        calls.append(folder)
        return make(folder)

    with ThreadPoolExecutor(8) as several:
        found = list(several.map(lambda _: kept("program-1", fetch, tmp_path / "cache"), range(8)))
    assert set(found) == {tmp_path / "cache" / "program-1"}
    assert (found[0] / "file").read_text() == "fetched"
    assert len(calls) == 1


def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> Path:
        make(folder)
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        kept("program-1", fail, tmp_path)
    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == []
    assert (kept("program-1", make, tmp_path) / "file").exists()


def test_it_lies_in_the_user_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept("program-1", make) == tmp_path / "asyncsink-testing" / "program-1"
