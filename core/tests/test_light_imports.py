"""Spark imports every connector's shim in each of its processes, so nothing heavy may come along."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"aiobotocore", "aiokafka", "httpx", "numpy", "pandas", "pyarrow", "pyspark", "trio"}


@pytest.mark.parametrize(
    "program",
    [
        "import asyncsink",
        "import asyncsink; [getattr(asyncsink, name) for name in asyncsink.__all__]",
        "import asyncsink.plugins",
        "import asyncsink.plugins; asyncsink.plugins.available()",
        "import asyncsink.plugins as p; [p.connector_info(each.name) for each in p.available()]",
        "import asyncsink.cli",
        "import asyncsink.json_schema, asyncsink.json_text",
    ],
)
def test_nothing_heavy_is_imported_by(program: str) -> None:
    report = "; import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program + report], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "asyncsink" in loaded
    assert loaded & HEAVY == set()
