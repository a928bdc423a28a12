"""Object stores and HDFS: round trips, races, stores that imitate, and what is not installed."""

from __future__ import annotations

import builtins
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import fsspec
import pytest
from fsspec import AbstractFileSystem

from asyncsink.errors import LedgerError, LedgerUnavailableError
from asyncsink.ledger.naming import LEFT_OVER_AFTER_S, PROBE
from asyncsink.ledger.remote import ACCESS, RemoteStore
from asyncsink.ledger.store import Store, open_store
from asyncsink.ledger.writing import Objects, Renaming, writing
from asyncsink_testing.s3_server import S3

from .hadoop import Hadoop, Killed


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda store: store.read("state.json"), ["GET"]),
        (lambda store: store.read("none"), ["GET"]),
        (lambda store: store.replace("state.json", b"new"), ["PUT"]),
        (lambda store: store.replace("new/x", b"new"), ["PUT"]),
        (lambda store: store.create("slot", b"x"), ["PUT"]),
        (lambda store: store.create("state.json", b"x"), ["PUT"]),
        (lambda store: store.names("progress"), ["GET"]),
        (lambda store: store.folders(""), ["GET"]),
        (lambda store: store.remove("state.json"), ["DELETE"]),
        (lambda store: store.remove(*(f"progress/{n}.json" for n in range(100))), ["POST"]),
        (lambda store: store.sweep("progress"), []),
    ],
)
def test_each_operation_is_one_request(s3: S3, call: Callable[[Store], object], expected: list[str]) -> None:
    store = open_store(f"{s3.bucket()}/x")
    store.replace("state.json", b"{}")
    store.replace("progress/1.json", b"{}")
    store.create("id", b"first, which proves that it is exclusive")
    with s3.requests() as seen:
        call(store)
    assert seen == expected


def test_a_put_that_arrives_after_its_sender_was_given_up_replaces_nothing(s3: S3) -> None:
    bucket = s3.bucket()
    store = open_store(f"{bucket}/x")
    store.create("id", b"first, which proves that it is exclusive")
    held = s3.hold("PUT", f"/{bucket.removeprefix('s3a://')}/x/slot")
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(store.create, "slot", b"late")
        assert held.wait_for(20)
        assert store.create("slot", b"in time")
        assert held.admit(20) == 412
        assert late.result() is False
    assert store.read("slot") == b"in time"


def test_a_process_proves_once_for_a_folder_that_it_creates_exclusively(s3: S3) -> None:
    location = f"{s3.bucket()}/x"
    with s3.requests() as seen:
        open_store(location).create("a", b"")
        open_store(location).create("b", b"")
    assert seen == ["PUT", "PUT", "PUT", "PUT"]
    assert open_store(location).names("") == ["a", "b"]


def test_what_another_process_has_written_is_seen_at_once(s3: S3) -> None:
    location = f"{s3.bucket()}/x"
    mine, other = open_store(location), open_store(location)
    assert mine.read("state.json") is None
    assert mine.names("") == []
    other.replace("state.json", b"1")
    assert mine.names("") == ["state.json"]
    assert mine.read("state.json") == b"1"
    other.replace("state.json", b"2")
    assert mine.read("state.json") == b"2"


def test_of_many_threads_one_creates_on_s3(s3: S3) -> None:
    location, start = f"{s3.bucket()}/x", Barrier(6)

    def race(me: int) -> list[int]:
        store = open_store(location)
        start.wait()
        return [n for n in range(10) if store.create(f"slots/{n}", str(me).encode())]

    with ThreadPoolExecutor(6) as threads:
        won = dict(enumerate(threads.map(race, range(6))))
    assert sorted(slot for slots in won.values() for slot in slots) == [*range(10)]
    for me, slots in won.items():
        assert {open_store(location).read(f"slots/{slot}") for slot in slots} <= {str(me).encode()}


def test_a_store_that_creates_twice_is_refused_before_it_overwrites(s3: S3) -> None:
    store = open_store(f"{s3.bucket()}/x")
    store.replace("slot", b"another's")
    s3.deaf = True
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"cannot create 'slot' in s3a://.*/x: .* creates a file a second time"):
            store.create("slot", b"mine")
    assert store.read("slot") == b"another's"


def test_so_it_is_when_it_is_asked_before_anything_is_created(s3: S3) -> None:
    s3.deaf = True
    store = open_store(f"{s3.bucket()}/x")
    with pytest.raises(LedgerUnavailableError, match=r"cannot create files in s3a://.*/x: .* creates a file a second"):
        store.prove_exclusive()
    assert store.names("") == []


def test_one_that_has_proven_it_is_not_asked_again(s3: S3) -> None:
    store = open_store(f"{s3.bucket()}/x")
    store.prove_exclusive()
    with s3.requests() as seen:
        store.prove_exclusive()
        store.create("slot", b"")
    assert seen == ["PUT"]


@pytest.mark.parametrize(("status", "code"), [(412, "PreconditionFailed"), (412, "412")])
def test_a_condition_that_failed_without_a_word_of_which_is_a_no(s3: S3, status: int, code: str) -> None:
    store = open_store(f"{s3.bucket()}/x")
    store.create("id", b"")
    s3.answers = [(status, code)]
    assert not store.create("slot", b"")


def test_a_conflict_with_another_condition_is_tried_again(s3: S3) -> None:
    store = open_store(f"{s3.bucket()}/x")
    store.create("id", b"")
    s3.answers = [(409, "ConditionalRequestConflict")] * 3
    assert store.create("slot", b"mine")
    s3.answers = [(409, "ConditionalRequestConflict")] * 10
    with pytest.raises(LedgerError, match=r"cannot create 'other' in .* told so"):
        store.create("other", b"mine")
    assert s3.answers == []


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("read", lambda store: store.read("x")),
        ("replace", lambda store: store.replace("x", b"")),
        ("create", lambda store: store.create("x", b"")),
        ("remove", lambda store: store.remove("x")),
        ("list", lambda store: store.names("x")),
    ],
)
def test_a_right_that_is_missing_is_named(s3: S3, operation: str, call: Callable[[Store], object]) -> None:
    store = open_store(f"{s3.bucket()}/x")
    s3.answers = [(403, "AccessDenied")]
    with pytest.raises(LedgerError) as caught:
        call(store)
    assert str(caught.value).startswith(f"the ledger cannot {operation} 'x' in {store.location}: PermissionError: ")
    assert "let this process read, write, list and remove files there" in str(caught.value)
    assert str(caught.value).endswith(ACCESS)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("read", lambda store: store.read("x")),
        ("replace", lambda store: store.replace("x", b"")),
        ("create", lambda store: store.create("x", b"")),
    ],
)
def test_a_bucket_that_is_missing_is_not_an_empty_one(s3: S3, operation: str, call: Callable[[Store], object]) -> None:
    with pytest.raises(LedgerError, match=f"cannot {operation} 'x' in s3a://none/x: FileNotFoundError: .*make the buc"):
        call(open_store("s3a://none/x"))


def hdfs(tmp_path: Path) -> tuple[Hadoop, RemoteStore]:
    hadoop = Hadoop()
    way = writing(hadoop)
    assert isinstance(way, Renaming)
    return hadoop, RemoteStore(hadoop, way, str(tmp_path / "ledger"), "hdfs://host/ledger")


@pytest.mark.parametrize("refuses", [True, False])
@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize("steps", range(8))
def test_a_writer_killed_at_any_step_of_a_replacement_leaves_the_old_or_the_new(
    tmp_path: Path, steps: int, silent: bool, refuses: bool
) -> None:
    hadoop, store = hdfs(tmp_path)
    hadoop.refuses, hadoop.silent = refuses, silent
    for old, new in (None, b"one"), (b"one", b"two"), (b"two", b"three"):
        hadoop.steps = steps
        try:
            store.replace("state.json", new)
            expected = {new}
        except Killed:
            expected = {old, new}  # type: ignore[arg-type]
        hadoop.steps = None
        assert store.read("state.json") in expected
        assert set(store.names("")) <= {"state.json"}
        store.replace("state.json", new)
        assert store.read("state.json") == new
    store.remove("state.json")
    assert store.read("state.json") is None


@pytest.mark.parametrize("steps", range(8))
def test_what_a_killed_replacement_left_does_not_come_back_after_a_removal(tmp_path: Path, steps: int) -> None:
    hadoop, store = hdfs(tmp_path)
    store.replace("state.json", b"one")
    hadoop.steps = steps
    try:
        store.replace("state.json", b"two")
    except Killed:
        assert steps < 7
    else:
        assert [each.name for each in (tmp_path / "ledger").iterdir()] == ["state.json"]
    hadoop.steps = None
    store.remove("state.json")
    assert store.read("state.json") is None
    assert store.create("state.json", b"three")


@pytest.mark.parametrize("steps", range(4))
def test_a_writer_killed_while_it_creates_has_created_whole_or_not(tmp_path: Path, steps: int) -> None:
    hadoop, store = hdfs(tmp_path)
    store.create("id", b"")
    hadoop.steps = steps
    try:
        created = store.create("slot", b"whole")
    except Killed:
        created = False
    hadoop.steps = None
    assert store.read("slot") == (b"whole" if created else None)
    assert store.create("slot", b"other") is not created


def test_a_file_system_whose_rename_replaces_creates_nothing(tmp_path: Path) -> None:
    hadoop, store = hdfs(tmp_path)
    hadoop.refuses = False
    store.replace("slot", b"another's")
    with pytest.raises(
        LedgerError, match=r"cannot create 'slot' in hdfs://host/ledger: .* creates a file a second tim"
    ):
        store.create("slot", b"mine")
    assert store.read("slot") == b"another's"


def test_what_killed_writers_left_stays_for_who_lists_and_is_swept_after_an_hour(tmp_path: Path) -> None:
    _, store = hdfs(tmp_path)
    store.replace("state.json", b"")
    now, folder = int(time.time()), tmp_path / "ledger"
    recent = folder / f".state.json.{now}-{'0' * 32}.tmp"
    recent.write_bytes(b"half")
    old = folder / f".state.json.{now - LEFT_OVER_AFTER_S - 60}-{'0' * 32}.tmp"
    old.write_bytes(b"half")
    assert store.names("") == ["state.json"]
    assert old.exists()
    store.sweep("")
    assert {each.name for each in folder.iterdir()} == {"state.json", recent.name}


def test_markers_of_folders_and_a_file_of_the_folders_name_are_not_listed(s3: S3) -> None:
    bucket = s3.bucket()
    files = fsspec.filesystem("s3", use_listings_cache=False, max_concurrency=1)
    root = bucket.removeprefix("s3a://")
    store = open_store(f"{bucket}/x")
    files.call_s3("put_object", Bucket=root, Key="x/progress/", Body=b"")
    assert store.names("progress") == []
    files.pipe_file(f"{root}/x/only", b"")
    assert store.names("only") == []
    assert store.names("") == ["only"]


@pytest.mark.parametrize(("kind", "way"), [("memory", Objects), ("file", Renaming), ("data", type(None))])
def test_a_file_system_is_written_the_way_it_can(kind: str, way: type) -> None:
    assert type(writing(fsspec.filesystem(kind))) is way


def test_a_file_system_that_can_write_nothing_whole_is_refused() -> None:
    with pytest.raises(LedgerUnavailableError, match=r"no ledger can be kept in data:.*neither put nor rename a file"):
        open_store("data://x")


def test_a_scheme_that_nobody_knows_is_refused() -> None:
    with pytest.raises(LedgerUnavailableError, match=r"kept in nonsense://\*\*\*@b/x: fsspec has no back end for"):
        open_store("nonsense://me:hush@b/x")


def test_a_file_system_that_cannot_be_opened_says_what_it_needs() -> None:
    with pytest.raises(LedgerUnavailableError, match=r"kept in github://x: fsspec cannot open it \(Type.*\); give its"):
        open_store("github://x")


class Afar(AbstractFileSystem):  # type: ignore[misc]
    """A file system that connects as soon as it is made, as those of HDFS, Azure and Google do."""

    protocol = "afar"
    cachable = False
    answer: Exception = OSError("none")

    def __init__(self, **options: Any) -> None:
        raise self.answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OSError("Temporary failure in name resolution"), "OSError: Temporary failure in name resolution"),
        (RuntimeError("ticket expired"), "RuntimeError: ticket expired"),
        (ValueError("unable to connect to account"), "ValueError: unable to connect to account"),
    ],
)
def test_a_file_system_that_cannot_be_reached_just_now_may_well_hold_a_ledger(
    answer: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation("afar", Afar, clobber=True)
    monkeypatch.setattr(Afar, "answer", answer)
    with pytest.raises(LedgerError, match=f"^the ledger cannot open afar://host/x: {said}; check address") as caught:
        open_store("afar://host/x")
    assert not isinstance(caught.value, LedgerUnavailableError)
    assert caught.value.__cause__ is answer


@pytest.mark.parametrize("answer", [ImportError("no module afar"), TypeError("needs a token")])
def test_a_file_system_that_cannot_be_made_holds_none(answer: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("afar", Afar, clobber=True)
    monkeypatch.setattr(Afar, "answer", answer)
    with pytest.raises(LedgerUnavailableError, match=f"afar://host/x: fsspec cannot open it .*: {answer}"):
        open_store("afar://host/x")


def test_who_has_given_keys_to_spark_only_is_told_that_fsspec_has_its_own(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = f"{s3.bucket()}/x"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
    fsspec.filesystem("s3").clear_instance_cache()
    with pytest.raises(
        LedgerError, match=r"NoCredentialsError: .* fsspec, whose credentials are not Spark's: .* ledgerL"
    ):
        open_store(location).read("state.json")
    fsspec.filesystem("s3").clear_instance_cache()


@pytest.mark.parametrize(
    ("missing", "location", "said"),
    [
        ("fsspec", "memory://x", r"in memory://x needs fsspec, .* run pip install 'asyncsink-core\[fsspec\]'$"),
        ("fsspec", "s3a://b/x", r"in s3a://b/x needs fsspec, .* run pip install 'asyncsink-core\[fsspec\]' s3fs$"),
        ("gcsfs", "gs://b/x", r"in gs://b/x needs gcsfs, .* run pip install 'asyncsink-core\[fsspec\]' gcsfs$"),
        (
            "adlfs",
            "abfss://c@a/x",
            r"in abfss://c@a/x needs adlfs, .* pip install 'asyncsink-core\[fsspec\]' adlfs$",
        ),
    ],
)
def test_what_is_not_installed_is_named_with_what_installs_it(
    missing: str, location: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LedgerUnavailableError, match=said):
        open_store(location)


def test_the_proof_of_a_folder_is_no_name_that_anyone_can_use() -> None:
    with pytest.raises(ValueError, match=r"is no name within a store"):
        open_store("memory://x").read(PROBE)


def test_a_local_store_needs_no_fsspec(tmp_path: Path) -> None:
    program = f"""
import sys
from asyncsink.ledger.store import open_store
store = open_store({str(tmp_path)!r})
store.replace("x", b"1")
assert store.read("x") == b"1"
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "asyncsink" in loaded
    assert loaded & {"fsspec", "numpy", "pyarrow", "pyspark"} == set()
