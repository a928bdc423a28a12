"""What the tutorial says the kit finds is what it finds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parents[1] / "your-own-connector.md"


def test_a_connector_that_knows_no_throttles_fails_with_the_message_of_the_page() -> None:
    (_, message) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    command = [sys.executable, "-m", "pytest", "-p", "forgetful", "-k", "throttled", str(TESTS / "test_conformance.py")]
    done = subprocess.run(
        command,
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_PLUGINS": ""},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    for line in message.splitlines():
        words = re.sub(r"request \w+/-/\S+", "request", line).strip()
        assert words in re.sub(r"request \w+/-/\S+", "request", done.stdout)
