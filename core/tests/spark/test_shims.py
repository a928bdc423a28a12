"""Shims: found by Spark, light to import, unable to raise. Each check runs in a Python of its own."""

from __future__ import annotations

import subprocess
import sys


def run(script: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip(), done.stderr


def test_a_shim_loads_nothing_heavy_beside_pyspark() -> None:
    heavy = "{'pyarrow', 'numpy', 'pandas', 'httpx', 'asyncsink.spark.worker', 'asyncsink.plugins'}"
    script = "import pyspark.sql.datasource, sys; before = set(sys.modules); import pyspark_asyncsink\n"
    script += f"print(pyspark_asyncsink.DefaultSource.name(), {heavy} & (set(sys.modules) - before))"
    assert run(script) == ("asyncsink set()", "")


def test_a_shim_that_cannot_be_imported_keeps_the_reason_and_gives_no_source() -> None:
    script = "import sys; sys.modules['asyncsink.spark'] = None\n"
    script += "import pyspark_asyncsink as shim; print(hasattr(shim, 'DefaultSource'), type(shim.FAILURE).__name__)"
    assert run(script) == ("False ModuleNotFoundError", "")
