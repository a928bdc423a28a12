"""Names of folders: which are of this machine, which are refused, and what of them is shown."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink.dead_letters import DeadLetterFiles
from asyncsink.dead_letters.location import local_path, shown
from asyncsink.errors import ConfigurationError

from .letters import CONTEXT, letters, store


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("dead", "dead"),
        ("/data/dead", "/data/dead"),
        ("/data/a:b?c", "/data/a:b?c"),
        ("file:///data/a%20b", "/data/a b"),
        ("file://localhost/data", "/data"),
        ("file:/data", "/data"),
        ("FILE:///data", "/data"),
        ("local:///data", "/data"),
        ("s3://bucket/dead", None),
        ("simplecache::s3://bucket/dead", None),
    ],
)
def test_a_path_is_of_this_machine_or_fsspecs(path: str, expected: str | None) -> None:
    assert local_path(path) == (None if expected is None else Path(expected))


@pytest.mark.parametrize("path", ["", "  ", None, 7, b"dead", "a\0b"])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"the path of dead letters = .* is no path; name a folder"):
        DeadLetterFiles(path)


def test_a_url_that_lacks_a_slash_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'dbfs:/dead' is neither a path nor a URL; write 'dbfs://'"):
        DeadLetterFiles("dbfs:/dead")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"format of dead letters = 'csv' is not known; .* jsonl, parquet"):
        DeadLetterFiles("dead", "csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [["key"], {1: "x"}, "key=hush"])
def test_storage_options_that_are_no_mapping_are_refused_without_showing_them(options: Any) -> None:
    with pytest.raises(ConfigurationError, match="are no mapping") as caught:
        DeadLetterFiles("s3://bucket", storage_options=options)
    assert "hush" not in str(caught.value)


def test_storage_options_of_a_local_folder_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="path of dead letters = 'dead' is a folder of this machine; leave"):
        DeadLetterFiles("dead", storage_options={"key": "hush"})
    assert DeadLetterFiles("dead", storage_options={}) == DeadLetterFiles("dead", storage_options={})


def test_secrets_are_never_shown() -> None:
    described = DeadLetterFiles("ftp://me:hush@host/dead?sig=hush", storage_options={"password": "hush"})
    assert repr(described) == "DeadLetterFiles('ftp://***@host/dead?***', format='jsonl')"
    assert shown("ftp://hu@hush@host/dead@home") == "ftp://***@host/dead@home"
    assert shown("s3://KEY:hu@hush/hush@bucket/dead?sig=hush@hush") == "s3://***@bucket/dead?***"
    assert shown("ftp://host/dead?sig=hush\nhush") == "ftp://host/dead?***"
    assert shown("/data/me@home?") == "/data/me@home?"
    with pytest.raises(ConfigurationError) as caught:
        store("nonsense://me:hush@host/dead?sig=hush", letters(1, 1))
    assert "fsspec refuses the URL nonsense://***@host/dead?***" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "path", "format", "remedy"),
    [
        ("fsspec", "memory://dead", "jsonl", r"memory://dead need fsspec, .* 'asyncsink-core\[fsspec\]'"),
        ("asyncsink.arrow", "dead", "parquet", r"'parquet' need pyarrow .* 'asyncsink-core\[arrow\]'"),
    ],
)
def test_a_missing_package_is_named_on_entering_and_nothing_is_made(
    missing: str, path: str, format: Any, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith(missing):
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments, **options)

    async def main() -> None:
        async with DeadLetterFiles(path, format).open(CONTEXT):
            raise AssertionError("it has been entered")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigurationError, match=remedy):
        anyio.run(main)
    assert [*tmp_path.iterdir()] == []


def test_a_kind_of_url_whose_package_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec.core

    def unknown(*arguments: object, **options: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", unknown)
    with pytest.raises(ConfigurationError, match="s3://bucket need a package that is not installed: Install s3fs"):
        store("s3://bucket", letters(1, 1))


def test_a_local_folder_of_json_lines_needs_neither_fsspec_nor_pyarrow(tmp_path: Path) -> None:
    program = f"""
import anyio, sys
from asyncsink import WriterInitContext
from asyncsink.dead_letters import *
one = DeadLetter(reason=DeadLetterReason.REJECTED, code="400", message="", first_failed_at=1, last_failed_at=1,
    connector="package.Sink")

async def main():
    async with DeadLetterFiles({str(tmp_path)!r}).open(WriterInitContext()) as writer:
        await writer.write([one])

anyio.run(main)
assert [*read_dead_letters({str(tmp_path)!r})] == [one]
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "asyncsink" in loaded
    assert loaded & {"fsspec", "numpy", "pyarrow"} == set()
