"""Builds every distribution and tries what a user gets: ``python .ci/check_wheels.py FOLDER``.

The wheels are looked into, then installed into a fresh virtual environment that holds pyspark, them and their
dependencies and nothing else, in which `wheel_probe.py` sends rows by the connector's name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
# What a wheel must hold beside its licence. A connector also names itself to the kernel and to Spark.
CONTENTS = {
    "asyncsink": [],
    "asyncsink_aws": ["asyncsink_aws/py.typed"],
    "asyncsink_core": ["asyncsink/py.typed", "pyspark_asyncsink.py"],
    "asyncsink_dynamic_kafka": [
        "asyncsink_dynamic_kafka/py.typed",
        "pyspark_asyncsink_dynamic_kafka.py",
        "entry_points.txt",
    ],
    "asyncsink_files": ["asyncsink_files/py.typed", "pyspark_asyncsink_files.py", "entry_points.txt"],
    "asyncsink_firehose": ["asyncsink_firehose/py.typed", "pyspark_asyncsink_firehose.py", "entry_points.txt"],
    "asyncsink_http": ["asyncsink_http/py.typed", "pyspark_asyncsink_http.py", "entry_points.txt"],
    "asyncsink_kafka": ["asyncsink_kafka/py.typed", "pyspark_asyncsink_kafka.py", "entry_points.txt"],
    "asyncsink_kinesis": ["asyncsink_kinesis/py.typed", "pyspark_asyncsink_kinesis.py", "entry_points.txt"],
    "asyncsink_testing": ["asyncsink_testing/py.typed"],
}
# The kit is for those who write connectors; here it would bring test libraries that could hide a missing dependency.
NOT_FOR_USERS = {"asyncsink_testing"}


def build(folder: Path) -> dict[str, Path]:
    """Builds all sdists and wheels into `folder`; returns the wheels by distribution."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["hatch", "build", "--all", str(folder)], cwd=ROOT, check=True)
    wheels = {path.name.split("-")[0]: path for path in folder.glob("*.whl")}
    sdists = {path.name.split("-")[0] for path in folder.glob("*.tar.gz")}
    if not set(wheels) == sdists == set(CONTENTS):
        sys.exit(f"built the wheels {sorted(wheels)} and the sdists {sorted(sdists)}; expected {sorted(CONTENTS)}")
    return wheels


def missing_files(wheel: Path, expected: list[str]) -> list[str]:
    """Those of the `expected` files, and of the licence, that the wheel lacks or holds empty."""
    with ZipFile(wheel) as opened:
        names = opened.namelist()
    return [name for name in [*expected, "licenses/LICENSE"] if not any(held.endswith(name) for held in names)]


def install(wheels: list[Path], folder: Path) -> Path:
    """A fresh virtual environment with the wheels, Spark's extra and what they depend on; returns its interpreter."""
    subprocess.run(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    requirements = [f"{wheel}[spark]" if wheel.name.startswith("asyncsink_core-") else str(wheel) for wheel in wheels]
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", python, *requirements], check=True)
    return python


def probe(python: Path) -> None:
    """Runs the probe outside of the repository, so that nothing but what is installed can be found."""
    hidden = ("PYTHON", "PYTEST", "VIRTUAL_ENV")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environ |= {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    subprocess.run([python, "-I", ROOT / ".ci" / "wheel_probe.py"], cwd=python.parent, env=environ, check=True)


def main(folder: Path) -> None:
    wheels = build(folder / "dist")
    lacking = {name: missing_files(wheel, CONTENTS[name]) for name, wheel in wheels.items()}
    if any(lacking.values()):
        sys.exit(f"wheels lack files: {lacking}")
    probe(install([wheel for name, wheel in wheels.items() if name not in NOT_FOR_USERS], folder / "venv"))
    sys.stdout.write(f"{len(wheels)} wheels built, looked into and used\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
