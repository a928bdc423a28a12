"""What a program reads that writes a DataFrame where PySpark is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules["pyspark"] = None  # as if it were not installed
from asyncsink_testing import FakeDestination, FakeSink
FakeSink(FakeDestination()).{call}
"""


@pytest.mark.parametrize("call", ["write(None)", "write_stream(None)"])
def test_the_error_says_what_to_install(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "asyncsink.errors.ConfigurationError: PySpark is not installed, so there is no DataFrame to write; "
        "pip install 'asyncsink-core[spark]'"
    )
