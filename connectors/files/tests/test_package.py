"""The distribution: what it exports, what importing it costs, and the shim that must not raise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

import asyncsink_files
from asyncsink.plugins import connector_info, load_options, load_sink, register, unregister
from asyncsink_files import FilesOptions, FilesSink, _plugin


def test_public_names_are_sorted_and_exist() -> None:
    assert asyncsink_files.__all__ == sorted(asyncsink_files.__all__)
    assert [getattr(asyncsink_files, name).__name__ for name in asyncsink_files.__all__] == asyncsink_files.__all__
    assert set(asyncsink_files.__all__) <= set(dir(asyncsink_files))
    assert asyncsink_files.__version__
    with pytest.raises(AttributeError, match="no attribute 'Sink'"):
        asyncsink_files.Sink  # noqa: B018


def imported_by(code: str) -> set[str]:
    heavy = "{'pyarrow', 'numpy', 'pandas', 'pyspark', 'fsspec', 's3fs'}"
    script = f"import sys\n{code}\nprint(' '.join({heavy} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import asyncsink_files",
        "from asyncsink_files._plugin import asyncsink_connector; asyncsink_connector()",
        "from asyncsink_files import FilesSink; FilesSink(path='/x', file_format='parquet').converter(None)",
        "from asyncsink_files import FilesSink; FilesSink(path='/x').create_global_committer()",
        "from asyncsink_files import FilesSink; FilesSink(path='s3://x/y').converter(None)",
        "from asyncsink_files import read_manifest; read_manifest('/does/not/exist')",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str) -> None:
    assert imported_by(code) == set()


def test_the_registry_finds_sink_and_options() -> None:
    register(_plugin, "files")
    try:
        info = connector_info("files")
        assert (info.name, info.api_version, info.guarantees) == ("files", 1, ("exactly-once", "at-least-once"))
        assert load_sink("files") is FilesSink
        assert load_options("FILES") is FilesOptions
    finally:
        unregister("files")


@pytest.fixture
def without_shim() -> Iterator[None]:
    """The shim as if it had never been imported, before and after."""
    sys.modules.pop("pyspark_asyncsink_files", None)
    yield
    sys.modules.pop("pyspark_asyncsink_files", None)


@pytest.mark.usefixtures("without_shim")
def test_the_shim_keeps_the_reason_instead_of_raising(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncsink.spark", None)
    shim = importlib.import_module("pyspark_asyncsink_files")
    assert not hasattr(shim, "DefaultSource")
    assert isinstance(shim.FAILURE, ImportError)
