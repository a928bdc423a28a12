"""Files of dead letters: nothing overwritten, nothing lost that a write returned for, and clear errors."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import fsspec
import pytest

from asyncsink.dead_letters import DeadLetterFiles, DeadLetterStore, read_dead_letters
from asyncsink.dead_letters.encoding import to_json_lines
from asyncsink.dead_letters.folders import AppendingFolder, RenamingFolder
from asyncsink.errors import ConfigurationError, DeadLetterError

from .letters import CONTEXT, letter, letters, names, opened, store


@pytest.fixture(params=["local", "file", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same kind of folder by each kind of name."""
    return {
        "local": str(tmp_path / "a b" / "dead"),
        "file": f"file://{tmp_path}/a%20b/dead",
        "memory": f"memory://{uuid4().hex}/dead",
    }[request.param]


def files_in(folder: Path | str) -> list[str]:
    if str(folder).startswith("memory://"):
        return sorted(fsspec.filesystem("memory").ls(folder, detail=False))
    return sorted(str(each) for each in Path(str(folder).removeprefix("file://").replace("%20", " ")).iterdir())


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_what_is_written_is_read_back_in_order(folder: str, format: Any) -> None:
    async def main() -> None:
        async with opened(folder, format) as writer:
            await writer.write(letters(1, 3))
            await writer.write([])
            await writer.write(letters(4, 4))

    anyio.run(main)
    assert [*read_dead_letters(folder)] == letters(1, 4)
    assert [*read_dead_letters(folder, format)] == letters(1, 4)
    one_file_a_write = format == "parquet" or folder.startswith("memory")
    assert len(files_in(folder)) == (2 if one_file_a_write else 1)


def test_a_folder_may_hold_both_formats_and_be_read_by_one(folder: str) -> None:
    store(folder, letters(1, 1), "jsonl")
    store(folder, letters(2, 2), "parquet")
    assert {*names([*read_dead_letters(folder)])} == {1, 2}
    assert [*read_dead_letters(folder, "parquet")] == letters(2, 2)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_writers_of_the_same_task_never_overwrite_one_another(folder: str, format: Any) -> None:
    async def main() -> None:
        async with opened(folder, format) as one, opened(folder, format) as other:
            await one.write(letters(1, 1))
            await other.write(letters(2, 2))
            await one.write(letters(3, 3))

    anyio.run(main)
    assert sorted(names([*read_dead_letters(folder)])) == [1, 2, 3]


def test_the_name_of_a_file_tells_whose_it_is_and_is_fit_for_any_file_system(tmp_path: Path) -> None:
    async def main() -> None:
        context = type(CONTEXT)(writer_id=3, attempt=1, query_id="../a b/\u00e9" + "x" * 200, batch_id=None)
        async with DeadLetterFiles(tmp_path).open(context) as writer:
            await writer.write(letters(1, 1))

    anyio.run(main)
    (name,) = [each.name for each in tmp_path.iterdir()]
    assert name.startswith(f"dead-letters-.._a_b_{'x' * 57}-none-3-1-")
    assert name.endswith("-00000.jsonl")


def test_a_writer_without_letters_makes_no_file(tmp_path: Path) -> None:
    store(tmp_path / "dead", [])
    assert files_in(tmp_path / "dead") == []
    assert [*read_dead_letters(tmp_path / "dead")] == []


@pytest.fixture
def folder_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The order in which a folder asks the system to make things durable and to name them."""
    calls: list[str] = []

    def recorded(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            what = str(Path(f"/proc/self/fd/{arguments[0]}").readlink()) if isinstance(arguments[0], int) else ""
            calls.append(f"{name} {'folder' if Path(what).is_dir() else 'file'}" if what else name)
            return real(*arguments)

        return call

    for name in ("fsync", "write", "rename"):
        monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    return calls


linux_only = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to tell files from folders")


@linux_only
def test_appending_syncs_the_file_each_time_and_its_folder_once(tmp_path: Path, folder_calls: list[str]) -> None:
    folder = AppendingFolder(tmp_path / "new", lambda: "a.jsonl")
    folder.prepare()
    assert folder_calls == ["fsync folder"]
    folder.write(b"1\n")
    folder.write(b"2\n")
    folder.close()
    assert folder_calls[1:] == ["fsync folder", "write file", "fsync file", "write file", "fsync file"]
    assert (tmp_path / "new" / "a.jsonl").read_bytes() == b"1\n2\n"


@linux_only
def test_a_finished_file_is_durable_before_it_has_its_name(tmp_path: Path, folder_calls: list[str]) -> None:
    RenamingFolder(tmp_path, lambda: "a.parquet").write(b"1")
    assert folder_calls == ["write file", "fsync file", "rename", "fsync folder"]
    assert [each.name for each in tmp_path.iterdir()] == ["a.parquet"]


def test_after_a_failed_write_the_next_goes_to_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter(["a.jsonl", "b.jsonl"])
    folder = AppendingFolder(tmp_path, lambda: next(given))
    write = os.write
    folder.write(to_json_lines(letters(1, 1)))
    with monkeypatch.context() as patch:
        answers: Iterator[Callable[[int, bytes], int]] = iter([lambda file, data: write(file, data[:10]), _disk_full])
        patch.setattr(os, "write", lambda file, data: next(answers)(file, data))
        with pytest.raises(OSError, match="No space left"):
            folder.write(to_json_lines(letters(2, 2)))
    folder.write(to_json_lines(letters(3, 3)))
    folder.close()
    assert names([*read_dead_letters(tmp_path)]) == [1, 3]


def test_a_file_whose_name_may_not_be_durable_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter(["a.jsonl", "b.jsonl"])
    folder = AppendingFolder(tmp_path, lambda: next(given))
    with monkeypatch.context() as patch:
        patch.setattr("asyncsink.dead_letters.folders.sync_folder", lambda path: _disk_full(0, b""))
        with pytest.raises(OSError, match="No space left"):
            folder.write(b"1\n")
    folder.write(b"2\n")
    folder.close()
    assert (tmp_path / "b.jsonl").read_bytes() == b"2\n"


def _disk_full(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


def test_a_failed_rename_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(os, "rename", refused)
    with pytest.raises(PermissionError):
        RenamingFolder(tmp_path, lambda: "a.parquet").write(b"1")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["{path}", "file://{path}"])
def test_a_folder_that_cannot_be_made_is_an_error_on_entering(tmp_path: Path, name: str) -> None:
    (tmp_path / "taken").write_text("a file")
    path = name.format(path=tmp_path / "taken" / "dead")
    with pytest.raises(DeadLetterError) as caught:
        store(path, letters(1, 1))
    assert path in str(caught.value)
    assert "Not a directory" in str(caught.value)
    assert "make sure that the folder exists, may be written to" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_folder_that_may_not_be_written_to_is_an_error_on_entering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *arguments: False)  # root may always
    with pytest.raises(DeadLetterError, match="PermissionError: the folder may not be written to"):
        store(tmp_path, letters(1, 1))


def test_a_write_that_fails_says_so_and_chains_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", _disk_full)
    with pytest.raises(
        DeadLetterError, match=r"cannot be written to .*OSError: No space left on device; make sure"
    ) as e:
        store(tmp_path, letters(1, 1))
    assert isinstance(e.value.__cause__, OSError)


def test_a_remote_error_is_chained_and_its_text_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise RuntimeError("signature=hush")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "pipe_file", refused)
    with pytest.raises(DeadLetterError, match="RuntimeError: see the error") as caught:
        store("memory://dead", letters(1, 1))
    assert "hush" not in str(caught.value)
    assert "hush" in str(caught.value.__cause__)


def test_a_remote_folder_is_made_where_the_file_system_has_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(fsspec.filesystem("memory"))
    pipe_file = kind.pipe_file
    made: list[str] = []

    def strict(self: Any, path: str, *arguments: Any, **options: Any) -> None:
        if not made:
            raise FileNotFoundError(path)
        pipe_file(self, path, *arguments, **options)

    monkeypatch.setattr(kind, "makedirs", lambda self, path, exist_ok: made.append(path))
    monkeypatch.setattr(kind, "pipe_file", strict)
    folder = f"memory://{uuid4().hex}"
    store(folder, letters(1, 1))
    assert made == [folder.removeprefix("memory:/")]
    assert [*read_dead_letters(folder)] == letters(1, 1)


def test_a_crash_in_a_write_leaves_what_came_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = to_json_lines(letters(1, 3))
    whole = len(to_json_lines(letters(1, 2)))
    (tmp_path / "other.jsonl").write_bytes(to_json_lines(letters(9, 9)))
    torn = tmp_path / "crashed.jsonl"
    for length in range(whole + 1, len(data) - 1):
        torn.write_bytes(data[:length])
        with caplog.at_level(logging.WARNING):
            caplog.clear()
            assert names([*read_dead_letters(tmp_path)]) == [1, 2, 9]
        assert f"{torn} ends with {length - whole} bytes" in caplog.text
    torn.write_bytes(data[:-1])
    assert names([*read_dead_letters(torn)]) == [1, 2, 3]


def test_damage_before_the_end_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    first, second, third = to_json_lines(letters(1, 3)).splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(first + second[:50] + b"\n" + third)
    found = read_dead_letters(tmp_path)
    assert next(found) == letter(1)
    with pytest.raises(DeadLetterError, match=r"a\.jsonl, line 2 is damaged"):
        next(found)


def test_a_newer_schema_is_refused_even_in_the_last_line(tmp_path: Path) -> None:
    data = to_json_lines([letter(schema_version=2)])
    (tmp_path / "a.jsonl").write_bytes(data)
    with pytest.raises(DeadLetterError, match=r"a\.jsonl, line 1 has schema_version 2"):
        [*read_dead_letters(tmp_path)]


def test_hidden_and_foreign_files_are_not_read(tmp_path: Path) -> None:
    store(tmp_path, letters(1, 1))
    for name in (".hidden.jsonl", "_SUCCESS", "_started.jsonl", "notes.txt", ".x.parquet.tmp"):
        (tmp_path / name).write_text("not a letter")
    assert [*read_dead_letters(tmp_path)] == letters(1, 1)


def test_a_single_file_is_read_by_its_suffix_or_by_the_given_format(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(to_json_lines(letters(1, 1)))
    (tmp_path / "a.txt").write_bytes(to_json_lines(letters(2, 2)))
    assert [*read_dead_letters(tmp_path / "a.jsonl")] == letters(1, 1)
    assert [*read_dead_letters(tmp_path / "a.txt", "jsonl")] == letters(2, 2)
    with pytest.raises(ConfigurationError, match=r"a\.txt is not told by its suffix; give format="):
        read_dead_letters(tmp_path / "a.txt")


def test_reading_from_nowhere_is_an_error_at_once(folder: str) -> None:
    with pytest.raises(ConfigurationError, match=r"there are no dead letters at .*dead; name the folder"):
        read_dead_letters(folder)
    with pytest.raises(ConfigurationError, match=r"format of dead letters = 'csv' is not known; .* jsonl, parquet"):
        read_dead_letters(folder, "csv")  # type: ignore[arg-type]


def test_a_file_that_vanishes_while_it_is_read_is_named(tmp_path: Path) -> None:
    store(tmp_path, letters(1, 1))
    found = read_dead_letters(tmp_path)
    (name,) = files_in(tmp_path)
    Path(name).unlink()
    with pytest.raises(DeadLetterError, match="cannot be read: FileNotFoundError: No such file"):
        next(found)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_what_a_write_returned_for_survives_a_kill(tmp_path: Path, format: str) -> None:
    program = f"""
import anyio, sys
from asyncsink import WriterInitContext
from asyncsink.dead_letters import DeadLetter, DeadLetterFiles, DeadLetterReason

def letter(n):
    return DeadLetter(reason=DeadLetterReason.REJECTED, code="400", message="", entry=b"x" * 5000, entry_version=1,
        idempotency_id=f"q/7/3/{{n}}", first_failed_at=1, last_failed_at=1, connector="package.Sink")

async def main():
    async with DeadLetterFiles({str(tmp_path)!r}, {format!r}).open(WriterInitContext()) as writer:
        for n in range(1_000_000):
            await writer.write([letter(n)])
            print(n, flush=True)

anyio.run(main)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        returned = [int(child.stdout.readline()) for _ in range(20)]
        child.send_signal(signal.SIGKILL)
        returned += [int(line) for line in child.stdout if line.endswith("\n")]
    found = names([*read_dead_letters(tmp_path)])
    assert found[: len(returned)] == returned
    assert len(found) - len(returned) in (0, 1)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_local_write_that_is_cancelled_is_completed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    entered, go_on, fsync = threading.Event(), threading.Event(), os.fsync
    order: list[str] = []

    def held(file: int) -> None:
        entered.set()
        assert go_on.wait(20)
        fsync(file)
        order.append("durable")

    async def main() -> None:
        async with opened(tmp_path) as writer:
            await writer.write(letters(1, 1))
            monkeypatch.setattr(os, "fsync", held)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.write, letters(2, 2))
                await anyio.to_thread.run_sync(entered.wait)
                tasks.cancel_scope.cancel()
                threading.Timer(0.02, go_on.set).start()
            order.append("cancelled")
            await writer.write(letters(3, 3))

    anyio.run(main, backend=backend)
    assert order == ["durable", "cancelled", "durable"]
    assert names([*read_dead_letters(tmp_path)]) == [1, 2, 3]


def test_a_native_cancellation_does_not_close_the_file_under_the_thread_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on, fsync = threading.Event(), threading.Event(), os.fsync
    order: list[str] = []

    def held(file: int) -> None:
        entered.set()
        assert go_on.wait(20)
        fsync(file)
        order.append("written")

    async def write() -> None:
        async with opened(tmp_path) as writer:
            try:
                await writer.write(letters(1, 1))
            finally:
                order.append("cancelled")
                asyncio.get_running_loop().call_later(0.01, go_on.set)
        raise AssertionError("it was not cancelled")

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(write())
            await anyio.to_thread.run_sync(entered.wait)
            task.cancel()
        assert task.cancelled()

    monkeypatch.setattr("asyncsink.dead_letters.folders.sync_folder", lambda folder: None)
    monkeypatch.setattr(os, "fsync", held)
    asyncio.run(main())
    assert order == ["cancelled", "written"]
    assert [*read_dead_letters(tmp_path)] == letters(1, 1)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_remote_write_that_hangs_does_not_hold_up_a_cancelled_writer(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def held(*arguments: object) -> None:
        entered.set()
        assert go_on.wait(20)

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "pipe_file", held)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                async with opened("memory://dead") as writer:
                    await writer.write(letters(1, 1))

            tasks.start_soon(write)
            await anyio.to_thread.run_sync(entered.wait)
            tasks.cancel_scope.cancel()
        left.append(not go_on.is_set())
        go_on.set()

    left: list[bool] = []
    anyio.run(main, backend=backend)
    assert left == [True]


def test_the_store_is_a_picklable_description_without_io(tmp_path: Path) -> None:
    described = DeadLetterFiles(tmp_path / "dead", "parquet")
    assert isinstance(described, DeadLetterStore)
    assert pickle.loads(pickle.dumps(described)) == described
    remote = DeadLetterFiles("s3://bucket/dead", storage_options={"key": "k"})
    assert pickle.loads(pickle.dumps(remote)) == remote
    assert hash(remote) == hash(pickle.loads(pickle.dumps(remote)))
    assert not (tmp_path / "dead").exists()
