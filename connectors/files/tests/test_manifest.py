"""The manifest: each commit once, whoever commits beside it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import anyio
import pytest

from asyncsink import CommitError, ConfigurationError
from asyncsink.ledger.local import LocalStore
from asyncsink_files import FilesSink, ManifestFile, read_manifest
from asyncsink_files.committable import CommittedFiles, PendingFile
from asyncsink_files.manifest import KEPT_SINKS, Manifest, ManifestCommitter

ONE, TWO = "1" * 16, "2" * 16


def commit_of(sink_id: str, generation: int, number: int = 0) -> CommittedFiles:
    """A commit of one file, which bears this number in its name."""
    stem = f"{sink_id}-{generation}-0-0-{number:012x}"
    return CommittedFiles.of(
        sink_id, generation, [PendingFile(f"_asyncsink/{sink_id}/{stem}", f"part-{stem}.json", 3, 40)]
    )


def manifest_in(folder: Path, kind: type[LocalStore] = LocalStore) -> Manifest:
    return Manifest(kind(folder / "_manifest"), str(folder))


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return manifest_in(tmp_path)


def test_versions_count_and_tell_files_rows_and_bytes(manifest: Manifest, tmp_path: Path) -> None:
    assert [manifest.add(commit_of(ONE, generation)) for generation in (1, 2)] == [1, 2]
    assert sorted(path.name for path in (tmp_path / "_manifest").iterdir()) == [f"{n:020}.json" for n in (1, 2)]
    fields = json.loads((tmp_path / "_manifest" / f"{2:020}.json").read_text())
    assert (fields["sink_id"], fields["generation"]) == (ONE, 2)
    assert fields["files"] == [{"path": f"part-{ONE}-2-0-0-000000000000.json", "rows": 3, "size_in_bytes": 40}]
    first = ManifestFile(str(tmp_path / f"part-{ONE}-1-0-0-000000000000.json"), 3, 40)
    assert read_manifest(tmp_path)[0] == read_manifest(f"file:{tmp_path}")[0] == first


def test_a_commit_is_listed_once(manifest: Manifest) -> None:
    assert manifest.add(commit_of(ONE, 1)) == 1
    assert manifest.add(commit_of(TWO, 1)) == 2
    assert manifest.add(commit_of(ONE, 1)) == 1
    assert manifest.versions() == [1, 2]


def test_a_zombie_lists_nothing_again_after_its_successors(manifest: Manifest) -> None:
    for generation in (1, 2, 3):
        manifest.add(commit_of(ONE, generation))
    assert [manifest.add(commit_of(ONE, generation)) for generation in (1, 2)] == [1, 2]
    assert manifest.versions() == [1, 2, 3]


def test_several_commits_of_one_generation_are_several(manifest: Manifest) -> None:
    """A writer that lives on over commits gives all its files the generation with which it began."""
    assert [manifest.add(commit_of(ONE, 4, number)) for number in (0, 1, 2, 1, 0)] == [1, 2, 3, 2, 1]


def test_two_sinks_that_commit_at_once_both_get_in(tmp_path: Path) -> None:
    def add_all(sink_id: str) -> None:
        own = manifest_in(tmp_path)
        for generation in range(1, 21):
            own.add(commit_of(sink_id, generation))

    with ThreadPoolExecutor() as threads:
        list(threads.map(add_all, (ONE, TWO)))
    manifest = manifest_in(tmp_path)
    assert manifest.versions() == [*range(1, 41)]
    entries = [manifest.read(version) for version in manifest.versions()]
    for sink_id in (ONE, TWO):
        assert [each.generation for each in entries if each.sink_id == sink_id] == [*range(1, 21)]


def test_a_version_that_another_takes_meanwhile_is_followed_by_the_next(tmp_path: Path) -> None:
    class Slow(LocalStore):
        def create(self, name: str, data: bytes) -> bool:
            manifest_in(tmp_path).add(commit_of(TWO, 1))
            return super().create(name, data)

    assert manifest_in(tmp_path, Slow).add(commit_of(ONE, 1)) == 2


def test_a_version_that_oneself_has_taken_in_another_process_is_the_same(tmp_path: Path) -> None:
    class Slow(LocalStore):
        def create(self, name: str, data: bytes) -> bool:
            manifest_in(tmp_path).add(commit_of(ONE, 1))
            return super().create(name, data)

    assert manifest_in(tmp_path, Slow).add(commit_of(ONE, 1)) == 1
    assert manifest_in(tmp_path).versions() == [1]


def test_what_a_crash_has_interrupted_is_known_by_what_is_listed(tmp_path: Path, manifest: Manifest) -> None:
    committer = ManifestCommitter(manifest_in(tmp_path))
    listed, missing = commit_of(ONE, 1), commit_of(ONE, 2)
    manifest.add(listed)
    assert anyio.run(committer.filter_recovered_committables, [listed, missing]) == [missing]


def test_a_global_committable_holds_the_files_of_all_writers(tmp_path: Path) -> None:
    files = [*commit_of(ONE, 3, 1).all(), *commit_of(ONE, 3, 2).all()]
    combined = anyio.run(ManifestCommitter(manifest_in(tmp_path)).combine, files)
    assert (combined.sink_id, combined.generation, combined.all()) == (ONE, 3, files)
    serializer = FilesSink(path=str(tmp_path)).global_committable_serializer
    assert serializer is not None
    assert serializer.deserialize(1, serializer.serialize(combined)) == combined


def test_each_version_remembers_only_so_many_sinks(manifest: Manifest) -> None:
    for number in range(KEPT_SINKS + 5):
        manifest.add(commit_of(f"{number:016x}", 1))
    latest = manifest.read(KEPT_SINKS + 5).latest
    assert len(latest) == KEPT_SINKS
    assert f"{KEPT_SINKS + 4:016x}" in latest


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"format":2}', b'{"format":1,"files":[]}'])
def test_a_damaged_version_is_named_with_what_to_do(manifest: Manifest, tmp_path: Path, data: bytes) -> None:
    manifest.add(commit_of(ONE, 1))
    (tmp_path / "_manifest" / f"{1:020}.json").write_bytes(data)
    with pytest.raises(CommitError, match=r"_manifest/0{19}1.json is damaged .*; bring it back from a copy"):
        read_manifest(tmp_path)


def test_other_files_beside_the_versions_are_passed_over(manifest: Manifest, tmp_path: Path) -> None:
    manifest.add(commit_of(ONE, 1))
    (tmp_path / "_manifest" / "notes.json").write_text("mine")
    assert len(read_manifest(tmp_path)) == 1
    assert manifest.add(commit_of(ONE, 2)) == 2


def test_a_folder_without_commits_lists_nothing(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "nowhere") == []


def test_only_a_place_that_files_are_written_to_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has the scheme 'hdfs'"):
        read_manifest("hdfs://host/rows")


def test_a_file_system_without_hard_links_is_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    committer = ManifestCommitter(manifest_in(tmp_path))
    for work in (committer.check_destination, partial(committer.commit, [commit_of(ONE, 1)])):
        with pytest.raises(ConfigurationError, match=r"in /.*: set manifest=false, .* file system has no hard links"):
            anyio.run(work)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
