"""The distribution: what it exports, what importing it costs, and the shim that must not raise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args, get_type_hints

import pytest

import asyncsink_dynamic_kafka
from asyncsink.plugins import connector_info, load_options, load_sink, register, unregister
from asyncsink_dynamic_kafka import DynamicKafkaOptions, DynamicKafkaSink, _plugin


def test_public_names_are_sorted_and_exist() -> None:
    names = asyncsink_dynamic_kafka.__all__
    assert names == sorted(names)
    assert [getattr(asyncsink_dynamic_kafka, name).__name__ for name in names] == names
    assert set(names) <= set(dir(asyncsink_dynamic_kafka))
    assert asyncsink_dynamic_kafka.__version__
    with pytest.raises(AttributeError, match="no attribute 'Sink'"):
        asyncsink_dynamic_kafka.Sink  # noqa: B018


def imported_by(code: str) -> set[str]:
    heavy = "{'aiokafka', 'botocore', 'httpx', 'numpy', 'pandas', 'pyarrow', 'pyspark', 'yaml'}"
    script = f"import sys\n{code}\nprint(' '.join({heavy} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import asyncsink_dynamic_kafka",
        "from asyncsink_dynamic_kafka._plugin import asyncsink_connector; asyncsink_connector()",
        "from asyncsink_dynamic_kafka import FileMetadataService; FileMetadataService('m.yaml')",
        "from asyncsink_dynamic_kafka import HttpMetadataService; HttpMetadataService('https://host/m')",
        "import asyncsink_dynamic_kafka as it; it.SingleClusterTopicMetadataService('A', {'bootstrap.servers': 'a:1'})",
        "import asyncsink_dynamic_kafka.metadata.discovery, asyncsink_dynamic_kafka.metadata.making",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str) -> None:
    assert imported_by(code) == set()


def test_the_registry_finds_sink_and_options() -> None:
    register(_plugin, "dynamic_kafka")
    try:
        info = connector_info("dynamic-kafka")
        assert (info.name, info.api_version) == ("dynamic_kafka", 1)
        assert info.guarantees == get_args(get_type_hints(DynamicKafkaOptions)["delivery_guarantee"])
        assert load_sink("dynamic_kafka") is DynamicKafkaSink
        assert load_options("dynamic_kafka") is DynamicKafkaOptions
    finally:
        unregister("dynamic_kafka")


@pytest.fixture
def without_shim() -> Iterator[None]:
    """The shim as if it had never been imported, before and after."""
    sys.modules.pop("pyspark_asyncsink_dynamic_kafka", None)
    yield
    sys.modules.pop("pyspark_asyncsink_dynamic_kafka", None)


@pytest.mark.usefixtures("without_shim")
def test_the_shim_keeps_the_reason_instead_of_raising(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncsink.spark", None)
    shim = importlib.import_module("pyspark_asyncsink_dynamic_kafka")
    assert not hasattr(shim, "DefaultSource")
    assert isinstance(shim.FAILURE, ImportError)
