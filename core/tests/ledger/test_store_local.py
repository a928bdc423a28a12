"""Folders of this machine: kills, races, what is left over, and file systems that cannot."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from traceback import format_exception

import pytest

from asyncsink.errors import LedgerError, LedgerUnavailableError
from asyncsink.ledger.failure import told
from asyncsink.ledger.local import LocalStore
from asyncsink.ledger.naming import LEFT_OVER_AFTER_S

REPLACING = """
import sys
from pathlib import Path
from asyncsink.ledger.local import LocalStore
store = LocalStore(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    for letter in (b"a", b"b"):
        store.replace("state.json", letter * 50_000)
"""

CREATING = """
import sys
from pathlib import Path
from asyncsink.ledger.local import LocalStore
store, me = LocalStore(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
print(*(n for n in range(40) if store.create(f"slots/{n}", me.encode())), flush=True)
"""


def test_a_reader_sees_whole_contents_while_the_writer_is_killed(tmp_path: Path) -> None:
    store, whole = LocalStore(tmp_path), {b"a" * 50_000, b"b" * 50_000}
    store.replace("state.json", b"a" * 50_000)
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", REPLACING, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            seen = {store.read("state.json") for _ in range(random.randrange(20, 200))}
            writer.kill()
        assert seen | {store.read("state.json")} <= whole
    assert store.names("") == ["state.json"]
    store.replace("state.json", b"c")
    assert store.read("state.json") == b"c"


def test_of_many_processes_one_creates(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CREATING, str(tmp_path), str(me)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in range(4)
    ]
    for each in racers:
        assert each.stdout is not None
        each.stdout.readline()
    for each in racers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    won = {me: each.communicate()[0].split() for me, each in enumerate(racers)}
    assert sorted(int(slot) for slots in won.values() for slot in slots) == [*range(40)]
    for me, slots in won.items():
        assert {(tmp_path / "slots" / slot).read_text() for slot in slots} <= {str(me)}


def test_files_that_killed_writers_left_are_not_listed_and_are_swept_after_an_hour(tmp_path: Path) -> None:
    now, folder = int(time.time()), tmp_path / "progress"
    folder.mkdir()
    recent = folder / f".7.json.{now}-{'0' * 32}.tmp"
    old = folder / f".7.json.{now - LEFT_OVER_AFTER_S - 60}-{'0' * 32}.tmp"
    foreign = folder / ".7.json.crc"
    for each in (recent, old, foreign):
        each.write_bytes(b"half")
    store = LocalStore(tmp_path)
    assert store.names("progress") == []
    store.replace("progress/7.json", b"whole")
    assert store.names("progress") == ["7.json"]
    assert old.exists()
    store.sweep("progress")
    assert sorted(folder.iterdir()) == sorted([recent, foreign, folder / "7.json"])


def test_nothing_is_left_beside_a_file(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.replace("a", b"1")
    store.replace("a", b"2")
    store.create("a", b"3")
    store.create("b", b"4")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("read", lambda store: store.read("sub/x")),
        ("replace", lambda store: store.replace("sub/x", b"")),
        ("create", lambda store: store.create("sub/x", b"")),
        ("remove", lambda store: store.remove("sub/x")),
        ("list", lambda store: store.names("sub/x")),
        ("list", lambda store: store.folders("sub/x")),
        ("sweep", lambda store: store.sweep("sub/x")),
    ],
)
def test_a_file_in_the_place_of_a_folder_is_named(
    operation: str, call: Callable[[LocalStore], object], tmp_path: Path
) -> None:
    (tmp_path / "sub").write_text("no folder")
    with pytest.raises(LedgerError) as caught:
        call(LocalStore(tmp_path))
    said = str(caught.value)
    assert said.startswith(f"the ledger cannot {operation} 'sub/x' in {tmp_path}: ")
    assert said.endswith(
        "a file stands where a folder belongs, or a folder where a file does: move it, or name another place"
    )
    assert isinstance(caught.value.__cause__, OSError)
    assert (tmp_path / "sub").read_text() == "no folder"


def test_a_folder_in_the_place_of_a_file_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(LedgerError, match=r"cannot replace 'state.json' in .*: IsADirectoryError: Is a directory; "):
        LocalStore(tmp_path).replace("state.json", b"")
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


def test_without_hard_links_nothing_is_created_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(
        LedgerError, match=r"cannot create 'slot' in .*: the file system has no hard links there .*disk"
    ):
        LocalStore(tmp_path).create("slot", b"")
    with pytest.raises(LedgerUnavailableError, match=r"cannot create files in .*: the file system has no hard links"):
        LocalStore(tmp_path).prove_exclusive()
    assert [*tmp_path.iterdir()] == []


def test_proving_that_links_can_be_made_leaves_nothing(tmp_path: Path) -> None:
    LocalStore(tmp_path / "new").prove_exclusive()
    assert [*(tmp_path / "new").iterdir()] == []


def test_a_link_whose_answer_got_lost_on_its_way_is_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def twice(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", twice)
    assert LocalStore(tmp_path).create("slot", b"mine")
    assert not LocalStore(tmp_path).create("slot", b"again")
    assert (tmp_path / "slot").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"OSError: No space left on device; make room there"),
        (PermissionError(errno.EACCES, "Permission denied"), r"PermissionError: .* let this process read, write"),
        (FileNotFoundError(errno.ENOENT, "No such file"), r"FileNotFoundError: No such file; make the bucket"),
        (ConnectionError(), r"/x: ConnectionError; make sure that it can be reached"),
        (
            RuntimeError("GET https://me:hush@host/x?sig=hush failed\nmore"),
            r"GET https://\*\*\*@host/x\?\*\*\* failed;",
        ),
        (RuntimeError("PUT s3://KEY:hu/hush@b/x@y"), r"PUT s3://\*\*\*@y;"),
    ],
)
def test_every_failure_has_its_remedy_and_no_secret(error: Exception, said: str) -> None:
    with pytest.raises(LedgerError, match=said) as caught:
        with told("replace", "state.json", "s3://bucket/x"):
            raise error
    assert str(caught.value).startswith("the ledger cannot replace 'state.json' in s3://bucket/x: ")
    assert "hush" not in "".join(format_exception(caught.value))
    assert (caught.value.__cause__ is error) is ("hush" not in str(error))


def test_a_traceback_is_whole_and_shows_no_secret_of_any_error_in_it() -> None:
    password = "hu/hush"

    def send() -> None:
        try:
            raise ConnectionError(f"no answer to GET https://host/x?sig={password}")
        except ConnectionError as error:
            error.add_note(f"sent to https://me:{password}@host")
            raise PermissionError("refused") from error

    with pytest.raises(LedgerError) as caught:
        with told("read", "state.json", "s3://bucket/x"):
            send()
    shown = "".join(format_exception(caught.value))
    assert "hush" not in shown
    for said in ("ConnectionError: no answer to GET https://host/x?***\nsent to https://***@host\n", "in send"):
        assert said in shown
    assert "PermissionError: refused\n" in shown


def test_an_error_that_is_its_own_cause_is_told() -> None:
    error = OSError("GET https://host/x?sig=hush")
    error.__cause__ = error
    with pytest.raises(LedgerError) as caught:
        with told("read", "state.json", "s3://bucket/x"):
            raise error
    assert "hush" not in str(caught.value.__cause__)
