"""Begins a connector as a stranger would, in a folder outside of the repository: ``python .ci/check_template.py``.

The wheels of core and kit are built and installed into a fresh virtual environment; what the kit writes there is built,
installed and tested, alone and beside other plugins of pytest, and looked at by ruff and mypy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ["ruff>=0.17,<0.18", "mypy>=2,<3"]
OTHER_PLUGINS = ["pytest-asyncio>=1", "pytest-trio>=0.8", "pytest-xdist>=3.6"]
PYTEST = ["-m", "pytest", "-q", "-W", "error", "--strict-markers", "-p", "no:cacheprovider"]
# The second run has settings under which a suite could lose its checks, or be run by an event loop that is not its own.
# One worker: a check may look at the time that an event loop stands still.
RUNS = {
    "alone": ["-p", "no:asyncio", "-p", "no:trio", "-p", "no:xdist"],
    "beside": ["-o", "asyncio_mode=auto", "-o", "trio_mode=true", "-n", "1", "-o", "python_classes=Nothing"],
}
ASYNCIO = ["-o", "asyncio_default_fixture_loop_scope=function"]
STRICT_ASYNCIO = ["-o", "asyncio_mode=strict", "-p", "no:trio", "-p", "no:xdist", "-k", "delivers or test_sink"]


def run(*command: str | Path, folder: Path) -> None:
    """Runs a command where nothing of the repository, and of this environment, can be found; exits if it fails."""
    hidden = ("PYTHON", "PYTEST", "VIRTUAL_ENV")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run([*map(str, command)], cwd=folder, env=environ, check=False)
    if done.returncode:
        sys.exit(f"in {folder}: {' '.join(map(str, command))} ended with status {done.returncode}")


def wheel(source: Path, folder: Path) -> Path:
    """Builds the wheel of a distribution into a folder of its own."""
    run("uv", "build", "--quiet", "--wheel", "--out-dir", folder, source, folder=folder.parent)
    [found] = folder.glob("*.whl")
    return found


def install(python: Path, *requirements: str | Path) -> None:
    run("uv", "pip", "install", "--quiet", "--python", python, *requirements, folder=python.parent)


def figures(python: Path, project: Path, name: str) -> dict[str, int]:
    """Runs the tests of the new distribution, and gives how many checks came to what."""
    report = project / f"{name}.json"
    loop_scope = [] if name == "alone" else ASYNCIO
    run(python, *PYTEST, *RUNS[name], *loop_scope, "--asyncsink-report", report, folder=project)
    [connector] = json.loads(report.read_text())["connectors"]
    counts: dict[str, Any] = connector["counts"]
    if not counts["passed"] or any(counts[outcome] for outcome in ("failed", "not run", "waived")):
        sys.exit(f"the new connector does not pass every check ({name}): {connector['summary']}")
    return counts


def main(folder: Path) -> None:
    began = monotonic()
    python = folder / "venv" / "bin" / "python"
    run("uv", "venv", "--quiet", "--python", sys.executable, folder / "venv", folder=folder)
    ours = [wheel(ROOT / "core", folder / "core"), wheel(ROOT / "testing-kit", folder / "kit")]
    install(python, *ours)
    run(python, "-m", "asyncsink_testing", "new", "parrot", folder=folder)
    project = folder / "asyncsink-parrot"
    install(python, *ours, f"{wheel(project, folder / 'parrot')}[test]", *TOOLS, *OTHER_PLUGINS)
    found = {name: figures(python, project, name) for name in RUNS}
    if len({json.dumps(each, sort_keys=True) for each in found.values()}) > 1:
        sys.exit(f"the checks come to other figures beside other plugins: {found}")
    run(python, *PYTEST, *STRICT_ASYNCIO, *ASYNCIO, folder=project)
    run(python, "-m", "ruff", "check", "--no-cache", ".", folder=project)
    run(python, "-m", "ruff", "format", "--no-cache", "--check", ".", folder=project)
    run(python, "-m", "mypy", "src", "tests", folder=project)
    run(python, "-m", "asyncsink_testing", "badge", project / "alone.json", "--output", folder, folder=folder)
    sys.stdout.write(f"a new connector passes {found['alone']['passed']} checks, in {monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    # Above it nothing of the repository is found either: no .gitignore, no settings of a tool.
    with TemporaryDirectory(prefix="asyncsink-") as temporary:
        main(Path(temporary).resolve())
