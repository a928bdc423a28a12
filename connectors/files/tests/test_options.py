"""Options: what is accepted, and what is refused in which words."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from asyncsink import Column, ConfigurationError, Schema, SchemaError
from asyncsink_files import FilesOptions, FilesSink

PATH = "/data/flights"


def read(**options: str) -> FilesOptions:
    return FilesOptions.from_options({"path": PATH, **options})


def test_only_the_path_is_required() -> None:
    options = read()
    assert (options.path, options.file_format, options.codec, options.file_prefix) == (PATH, "json", "none", "part")
    assert (options.max_file_size, options.is_transactional, options.has_manifest) == (128 << 20, True, True)
    with pytest.raises(ConfigurationError, match="'path' is missing"):
        FilesOptions.from_options({})


def test_strings_of_spark_are_read_in_any_spelling() -> None:
    given = {"PATH": PATH, "fileformat": "Parquet", "COMPRESSION": "zstd", "max_file_size": "64k", "manifest": "FALSE"}
    assert FilesOptions.from_options({**given, "file-prefix": "flights"}) == FilesOptions(
        path=PATH,
        file_format="parquet",
        compression="zstd",
        max_file_size=65_536,
        manifest=False,
        file_prefix="flights",
    )


def test_flinks_keys_are_aliases() -> None:
    flinks = {"format": "parquet", "sink.rolling-policy.file-size": "1mb", "sink.delivery-guarantee": "at-least-once"}
    options = read(**flinks)
    assert (options.file_format, options.max_file_size, options.is_transactional) == ("parquet", 1 << 20, False)


@pytest.mark.parametrize(
    "path", ["/data/x", "file:/data/x", "file:///data/x", "FILE://localhost/data/x", "/data/x/", "file:/data/x/"]
)
def test_a_folder_may_be_written_as_a_path_or_as_a_url(path: str) -> None:
    assert read(path=path).path == "/data/x"


@pytest.mark.parametrize("path", ["s3://bucket/rows", "s3a://bucket/rows/", "S3N://bucket"])
def test_or_as_one_of_s3(path: str) -> None:
    assert read(path=path).path == path.rstrip("/")


def test_a_relative_path_is_the_drivers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    options = read(path="rows")
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(options)).path == str(tmp_path / "rows")


def test_each_format_has_a_compression_of_its_own() -> None:
    assert (read(fileFormat="parquet").codec, read(compression="gzip").codec) == ("snappy", "gzip")
    assert read(fileFormat="parquet", compression="none").codec == "none"


@pytest.mark.parametrize("name", sorted(FilesOptions.refused))
def test_keys_from_elsewhere_are_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{name}' is not supported: "):
        read(**{name: "1"})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": "gs://bucket/rows"}, "option 'path' has the scheme 'gs', and files are written to folders of this"),
        (
            {"path": "s3:///rows"},
            "option 'path' = 's3:///rows' has no bucket, or more than bucket and folder",
        ),
        ({"path": "s3://bucket/rows?x=hush"}, "option 'path' = 's3://bucket/rows?***' has no bucket, or more"),
        ({"path": "s3a://key:hush@bucket/rows"}, "the location s3a://***@bucket/rows has credentials in its URL"),
        ({"path": "hdfs:/rows"}, "has the scheme 'hdfs'"),
        ({"path": "file://host/rows"}, "names no absolute path of this machine; write file:/folder; write for example"),
        ({"path": "file:rows"}, "names no absolute path of this machine"),
        ({"path": " "}, "option 'path' cannot be taken: ' ' names no place"),
        ({"fileFormat": "csv"}, "option 'fileFormat' = 'csv' must be 'json' or 'parquet'"),
        ({"compression": "zstd"}, "'compression' = 'zstd' is not for 'fileFormat' = 'json', which knows none, gzip"),
        ({"compression": "lz4"}, "option 'compression' = 'lz4' must be"),
        ({"maxFileSize": "0"}, "option 'maxFileSize' = 0 must be at least 1 byte; give for example 128mb"),
        ({"filePrefix": "_part"}, "option 'filePrefix' = '_part' must be at most 100 letters, digits"),
        ({"filePrefix": "a/b"}, "readers pass over names that begin with . or _"),
        ({"filePrefix": ""}, "option 'filePrefix' = '' must be"),
        ({"deliveryGuarantee": "none"}, "must be 'exactly-once' or 'at-least-once'"),
        ({"manifest": "true", "deliveryGuarantee": "at-least-once"}, "'manifest' = true needs commits, and"),
        ({"fileformt": "json"}, "option 'fileformt' is not known; did you mean 'fileFormat'"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**options)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"onRejected": "drop"}, "option 'onRejected' = 'drop' is not for files: a row that cannot be written fails"),
        ({"deadLetter.path": "/x"}, "option 'onRejected' = 'dead_letter' is not for files"),
        (
            {"batching": "deterministic"},
            "batching = 'deterministic' is not for FilesSink: a file system takes no requests",
        ),
        ({"ordering": "key"}, "option 'ordering' = 'key' is not for files: the rows of a task stand in its files in"),
    ],
)
def test_options_of_a_writer_that_would_lose_rows_or_promise_nothing_are_refused(
    options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        FilesSink.from_options({"path": PATH, **options})
    assert sentence in str(raised.value)


def test_the_committers_are_those_that_the_options_ask_for() -> None:
    def committers(**options: str) -> tuple[bool, bool]:
        sink = FilesSink.from_options({"path": PATH, **options})
        return sink.create_committer() is not None, sink.create_global_committer() is not None

    assert committers() == (True, True)
    assert committers(manifest="false") == (True, False)
    assert committers(deliveryGuarantee="at-least-once") == (False, False)


@pytest.mark.parametrize(
    ("file_format", "kind", "sentence"),
    [
        ("json", "interval day to second", "column 'x' is of type interval day to second; interval day to second has"),
        ("parquet", "interval day to second", "interval has no form in Parquet that Spark would read again"),
        ("parquet", "array<struct<a:variant>>", "column 'x' is of type array<struct<a:variant>>; variant has no form"),
        ("parquet", "void", "void has no form in Parquet"),
    ],
)
def test_columns_that_no_file_can_hold_are_refused(file_format: str, kind: str, sentence: str) -> None:
    sink = FilesSink.from_options({"path": PATH, "fileFormat": file_format})
    with pytest.raises(SchemaError) as raised:
        sink.converter(Schema((Column("x", kind),)))
    assert sentence in str(raised.value)


def test_a_field_may_be_called_as_a_type_is() -> None:
    sink = FilesSink(path=PATH, file_format="parquet")
    sink.converter(Schema((Column("variant", "struct<variant:int,`interval: x`:string>"),)))


def test_rows_without_columns_are_refused() -> None:
    with pytest.raises(SchemaError, match="the rows have no columns"):
        FilesSink(path=PATH).converter(Schema(()))
