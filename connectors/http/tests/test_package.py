"""The distribution: what it exports, what importing it costs, and the shim that must not raise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

import asyncsink_http
from asyncsink.plugins import connector_info, load_options, load_sink, register, unregister
from asyncsink_http import HttpOptions, HttpSink, _plugin


def test_public_names_are_sorted_and_exist() -> None:
    assert asyncsink_http.__all__ == sorted(asyncsink_http.__all__)
    assert [getattr(asyncsink_http, name).__name__ for name in asyncsink_http.__all__] == asyncsink_http.__all__
    assert asyncsink_http.__all__ == ["HttpAnswer", "HttpExchange", "HttpOptions", "HttpRequest", "HttpSink"]
    assert set(asyncsink_http.__all__) <= set(dir(asyncsink_http))
    assert asyncsink_http.__version__
    with pytest.raises(AttributeError, match="no attribute 'Sink'"):
        asyncsink_http.Sink  # noqa: B018


def imported_by(code: str) -> set[str]:
    heavy = "{'aiohttp', 'h2', 'httpcore', 'httpx', 'numpy', 'pandas', 'pyarrow', 'pyspark', 'socksio', 'zstandard'}"
    script = f"import sys\n{code}\nprint(' '.join({heavy} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import asyncsink_http",
        "from asyncsink_http._plugin import asyncsink_connector; asyncsink_connector()",
        "from asyncsink_http import HttpSink; HttpSink(url='http://localhost').converter(None)",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str) -> None:
    assert imported_by(code) == set()


def test_the_registry_finds_sink_and_options() -> None:
    register(_plugin, "http")
    try:
        info = connector_info("http")
        assert (info.name, info.api_version, info.guarantees) == ("http", 1, ("at-least-once",))
        assert load_sink("http") is HttpSink
        assert load_options("HTTP") is HttpOptions
    finally:
        unregister("http")


@pytest.fixture
def without_shim() -> Iterator[None]:
    """The shim as if it had never been imported, before and after."""
    sys.modules.pop("pyspark_asyncsink_http", None)
    yield
    sys.modules.pop("pyspark_asyncsink_http", None)


@pytest.mark.usefixtures("without_shim")
def test_the_shim_keeps_the_reason_instead_of_raising(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncsink.spark", None)
    shim = importlib.import_module("pyspark_asyncsink_http")
    assert not hasattr(shim, "DefaultSource")
    assert isinstance(shim.FAILURE, ImportError)
