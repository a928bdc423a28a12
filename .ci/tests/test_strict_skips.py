from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITES = {
    "a skip in a test": "import pytest\ndef test_a():\n    pytest.skip('no broker')\n",
    "a skip mark": "import pytest\n@pytest.mark.skip(reason='no broker')\ndef test_a(): pass\n",
    "a skipped module": "import pytest\npytest.skip('no broker', allow_module_level=True)\n",
    "a check without its library": "import pytest\ndef test_a():\n    pytest.skip('not applicable: not installed')\n",
    "a skipping fixture": "import pytest\n@pytest.fixture\ndef f(): pytest.skip('no broker')\ndef test_a(f): pass\n",
}
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a(): assert False\n"


def run(suite: str, folder: Path, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(suite)
    environ = {**os.environ, "CI": ci, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_PLUGINS": "strict_skips"}
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("kind", SUITES)
def test_a_skip_fails_the_run_under_ci_and_keeps_its_reason(kind: str, tmp_path: Path) -> None:
    done = run(SUITES[kind], tmp_path, ci="true")
    assert done.returncode in (1, 2)
    assert "a skip is a failure here" in done.stdout
    assert "no broker" in done.stdout or "not applicable: not installed" in done.stdout


def test_a_skip_is_a_skip_elsewhere(tmp_path: Path) -> None:
    done = run(SUITES["a skip in a test"], tmp_path, ci="")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    assert run(EXPECTED_FAILURE, tmp_path, ci="true").returncode == 0


def test_a_check_that_does_not_apply_is_no_skip(tmp_path: Path) -> None:
    suite = "import pytest\ndef test_a():\n    pytest.skip('not applicable: the capabilities say so')\n"
    assert run(suite, tmp_path, ci="true").returncode == 0
