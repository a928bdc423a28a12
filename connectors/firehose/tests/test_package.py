"""The distribution: what it exports, what importing it costs, and the shim that must not raise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

import asyncsink_firehose
from asyncsink.plugins import connector_info, load_options, load_sink, register, unregister
from asyncsink_firehose import FirehoseOptions, FirehoseSink, _plugin


def test_public_names_are_sorted_and_exist() -> None:
    assert asyncsink_firehose.__all__ == sorted(asyncsink_firehose.__all__)
    assert {name: getattr(asyncsink_firehose, name).__name__ for name in asyncsink_firehose.__all__} == {
        "FirehoseOptions": "FirehoseOptions",
        "FirehoseSink": "FirehoseSink",
    }
    assert set(asyncsink_firehose.__all__) <= set(dir(asyncsink_firehose))
    assert asyncsink_firehose.__version__
    with pytest.raises(AttributeError, match="no attribute 'Sink'"):
        asyncsink_firehose.Sink  # noqa: B018


def imported_by(code: str) -> set[str]:
    heavy = "{'aiobotocore', 'aiohttp', 'botocore', 'msgspec', 'pyarrow', 'numpy', 'pandas', 'pyspark'}"
    script = f"import sys\n{code}\nprint(' '.join({heavy} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import asyncsink_firehose",
        "from asyncsink_firehose._plugin import asyncsink_connector; asyncsink_connector()",
        "from asyncsink_firehose import FirehoseSink; FirehoseSink(delivery_stream='x').converter(None)",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str) -> None:
    assert imported_by(code) == set()


def test_the_registry_finds_sink_and_options() -> None:
    register(_plugin, "firehose")
    try:
        info = connector_info("firehose")
        assert (info.name, info.api_version, info.guarantees) == ("firehose", 1, ("at-least-once",))
        assert load_sink("firehose") is FirehoseSink
        assert load_options("FIREHOSE") is FirehoseOptions
    finally:
        unregister("firehose")


@pytest.fixture
def without_shim() -> Iterator[None]:
    """The shim as if it had never been imported, before and after."""
    sys.modules.pop("pyspark_asyncsink_firehose", None)
    yield
    sys.modules.pop("pyspark_asyncsink_firehose", None)


@pytest.mark.usefixtures("without_shim")
def test_the_shim_keeps_the_reason_instead_of_raising(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncsink.spark", None)
    shim = importlib.import_module("pyspark_asyncsink_firehose")
    assert not hasattr(shim, "DefaultSource")
    assert isinstance(shim.FAILURE, ImportError)
