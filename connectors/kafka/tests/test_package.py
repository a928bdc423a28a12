"""The distribution: what it exports, what importing it costs, and the shim that must not raise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args, get_type_hints

import pytest

import asyncsink_kafka
from asyncsink.plugins import connector_info, load_options, load_sink, register, unregister
from asyncsink_kafka import KafkaOptions, KafkaSink, _plugin


def test_public_names_are_sorted_and_exist() -> None:
    assert asyncsink_kafka.__all__ == sorted(asyncsink_kafka.__all__)
    assert [getattr(asyncsink_kafka, name).__name__ for name in asyncsink_kafka.__all__] == asyncsink_kafka.__all__
    assert set(asyncsink_kafka.__all__) <= set(dir(asyncsink_kafka))
    assert asyncsink_kafka.__version__
    with pytest.raises(AttributeError, match="no attribute 'Sink'"):
        asyncsink_kafka.Sink  # noqa: B018


def imported_by(code: str) -> set[str]:
    heavy = "{'aiokafka', 'botocore', 'numpy', 'pandas', 'pyarrow', 'pyspark'}"
    script = f"import sys\n{code}\nprint(' '.join({heavy} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import asyncsink_kafka",
        "from asyncsink_kafka._plugin import asyncsink_connector; asyncsink_connector()",
        "from asyncsink_kafka import KafkaOptions; KafkaOptions.from_options({'kafka.bootstrap.servers': 'one:1'})",
        "from asyncsink_kafka import KafkaSink; KafkaSink.from_options({'kafka.bootstrap.servers': 'one:1'})",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str) -> None:
    assert imported_by(code) == set()


def test_the_registry_finds_sink_and_options() -> None:
    register(_plugin, "kafka")
    try:
        info = connector_info("kafka")
        assert (info.name, info.api_version) == ("kafka", 1)
        assert info.guarantees == get_args(get_type_hints(KafkaOptions)["delivery_guarantee"])
        assert load_sink("kafka") is KafkaSink
        assert load_options("KAFKA") is KafkaOptions
    finally:
        unregister("kafka")


@pytest.fixture
def without_shim() -> Iterator[None]:
    """The shim as if it had never been imported, before and after."""
    sys.modules.pop("pyspark_asyncsink_kafka", None)
    yield
    sys.modules.pop("pyspark_asyncsink_kafka", None)


@pytest.mark.usefixtures("without_shim")
def test_the_shim_keeps_the_reason_instead_of_raising(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncsink.spark", None)
    shim = importlib.import_module("pyspark_asyncsink_kafka")
    assert not hasattr(shim, "DefaultSource")
    assert isinstance(shim.FAILURE, ImportError)
