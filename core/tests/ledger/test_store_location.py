"""Where a ledger lies, as Spark's users write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncsink.errors import LedgerUnavailableError
from asyncsink.ledger.location import Location
from asyncsink.ledger.store import open_store


@pytest.mark.parametrize(
    ("location", "folder"),
    [
        ("/data/chk", "/data/chk"),
        ("/data/a:b?c@d", "/data/a:b?c@d"),
        ("chk/orders", "chk/orders"),
        ("C:\\chk", "C:\\chk"),
        ("file:/data/chk", "/data/chk"),
        ("file:///data/chk", "/data/chk"),
        ("FILE://localhost/data/chk", "/data/chk"),
        ("file:/data/a%20b", "/data/a%20b"),
    ],
)
def test_a_folder_of_this_machine(location: str, folder: str) -> None:
    assert Location.of(location) == Location(location, Path(folder))


@pytest.mark.parametrize(
    ("location", "scheme", "url", "shown"),
    [
        ("s3://b/x/", "s3", "s3://b/x", "s3://b/x"),
        ("s3a://b/x", "s3", "s3://b/x", "s3a://b/x"),
        ("S3N://b/x", "s3", "s3://b/x", "S3N://b/x"),
        ("gs://b/x", "gs", "gs://b/x", "gs://b/x"),
        ("hdfs:/x", "hdfs", "hdfs:///x", "hdfs:/x"),
        ("hdfs://host:8020/x", "hdfs", "hdfs://host:8020/x", "hdfs://host:8020/x"),
        ("abfss://c@a.dfs/x", "abfss", "abfss://c@a.dfs/x", "abfss://c@a.dfs/x"),
        ("abfss://c:hush@a.dfs/x", "abfss", "abfss://c:hush@a.dfs/x", "abfss://***@a.dfs/x"),
        ("abfss://c@a.dfs/x?sig=hush", "abfss", "abfss://c@a.dfs/x?sig=hush", "abfss://c@a.dfs/x?***"),
        ("abfss://c:hu/hush@a.dfs/x", "abfss", "abfss://c:hu/hush@a.dfs/x", "abfss://***@a.dfs/x"),
        ("sftp:me:hush@host/x", "sftp", "sftp://me:hush@host/x", "sftp://***@host/x"),
        ("sftp://me:hush@host/x?k=hush", "sftp", "sftp://me:hush@host/x?k=hush", "sftp://***@host/x?***"),
        ("dbfs:/x", "dbfs", "dbfs:///x", "dbfs:/x"),
    ],
)
def test_a_place_elsewhere(location: str, scheme: str, url: str, shown: str, tmp_path: Path) -> None:
    assert Location.of(location, tmp_path / "none") == Location(shown, None, scheme, url)


@pytest.mark.parametrize("location", ["dbfs:/chk/x", "dbfs:///chk/x"])
def test_the_databricks_file_system_where_it_is_mounted(location: str, tmp_path: Path) -> None:
    assert Location.of(location, tmp_path) == Location(location, tmp_path / "chk/x")


@pytest.mark.parametrize("location", ["", "  ", "/a\0b"])
def test_no_place(location: str) -> None:
    with pytest.raises(LedgerUnavailableError, match=r"names no place; name a folder or a URL"):
        Location.of(location)


@pytest.mark.parametrize("location", ["file:x", "file://host/x"])
def test_a_file_url_of_no_folder_here(location: str) -> None:
    with pytest.raises(LedgerUnavailableError, match=f"location {location} names no absolute path of this machine"):
        open_store(location)


@pytest.mark.parametrize("user", ["key:hush", "KEY:hu/hush", "KEY:hu/sh@hush", "hush"])
@pytest.mark.parametrize("slashes", ["//", ""])
def test_credentials_in_an_s3_url_are_refused_and_not_shown(user: str, slashes: str) -> None:
    with pytest.raises(LedgerUnavailableError, match=r"s3a://\*\*\*@b/x has credentials in its URL") as caught:
        open_store(f"s3a:{slashes}{user}@b/x")
    assert "hu" not in str(caught.value)


@pytest.mark.parametrize("location", ["s3a://b/x@y", "s3a://b/a:b@c"])
def test_an_at_sign_in_a_key_is_no_credential(location: str) -> None:
    assert Location.of(location).shown == location


def test_a_store_says_where_it_is_and_how_deep(tmp_path: Path) -> None:
    assert open_store(f"file:{tmp_path}").within("asyncsink/orders").location == f"file:{tmp_path}/asyncsink/orders"
    assert open_store(f"{tmp_path}/").within("asyncsink").location == f"{tmp_path}/asyncsink"
    assert open_store("memory://x/y/").within("asyncsink").location == "memory://x/y/asyncsink"
