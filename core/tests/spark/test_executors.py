"""Executors whose Python is not the driver's: what is missing there is named, with the host and the remedy.

Driver and executors have one path for their interpreter here, as on a cluster, and other packages behind it: the worker
of a task gets the packages that the test has chosen, any other Python those of the tests.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import asyncsink

SITE = Path(__file__).with_name("site")
CORE = Path(asyncsink.__file__).parents[1]
HERE = version("asyncsink-core")

# Spark starts this instead of its own, for tasks only; each worker is forked from it.
DAEMON = """
import os, sys
from pathlib import Path
import pyspark.daemon


def choose():
    python = [each for each in sys.path if each.startswith(sys.base_prefix) and not each.endswith("-packages")]
    sys.path[:] = [*Path(os.environ["CHOSEN_PATH"]).read_text().split(os.pathsep), *python]


os.register_at_fork(after_in_child=choose)
pyspark.daemon.manager()
"""

DRIVER = """
import json, sys
from pathlib import Path
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

folder, paths = Path(sys.argv[1]), json.loads(sys.argv[2])
settings = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "chosen_packages",
    # Each task gets a worker of its own, with the packages that are chosen by then.
    "spark.python.worker.reuse": "false",
    "spark.sql.warehouse.dir": str(folder / "warehouse"),
}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()


def batch():
    spark.range(1).write.format("asyncsink.toy").option("folder", str(folder)).mode("append").save()


def stream():
    rows = spark.readStream.text(str(folder / "lines")).selectExpr("CAST(value AS BIGINT) id")
    writer = rows.writeStream.format("asyncsink.toy").option("folder", str(folder)).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()


said = {}
for name, path in paths.items():
    (folder / "path").write_text(path)
    try:
        stream() if "stream" in name else batch()
        said[name] = "written"
    except PySparkException as error:
        said[name] = str(error)
(folder / "said").write_text(json.dumps(said))
spark.stop()
"""


def packages(folder: Path) -> Path:
    """All that is installed here except asyncsink."""
    folder.mkdir()
    for path in map(Path, sys.path):
        if path.name in {"site-packages", "dist-packages"}:
            for each in path.iterdir():
                if not each.name.startswith("asyncsink") and not (folder / each.name).exists():
                    (folder / each.name).symlink_to(each)
    return folder


def installed(folder: Path, **versions: str) -> Path:
    """What pip leaves of distributions beside their modules."""
    for name, number in versions.items():
        info = folder / f"asyncsink_{name}-{number}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: asyncsink-{name}\nVersion: {number}\n")
    return folder


def environments(folder: Path) -> dict[str, str]:
    """The paths of executors, by what is the matter with them."""
    heavy = packages(folder / "packages")
    broken = folder / "broken"
    broken.mkdir()
    (broken / "asyncsink_toy.py").write_text("import a_client_library_that_is_missing\n")
    same = installed(folder / "same", core=HERE, toy="1.0")
    environments: dict[str, list[Path]] = {
        "the same": [same, CORE, SITE],
        "no connector for a stream": [installed(folder / "none", core=HERE), CORE],
        "another connector": [installed(folder / "connector", core=HERE, toy="2.0"), CORE, SITE],
        "both": [installed(folder / "both", core="0.0.1"), CORE],
        "no core": [installed(folder / "bare", toy="1.0"), SITE],
        "copied": [CORE, SITE],
        "no library": [same, CORE, broken],
    }
    return {name: os.pathsep.join(map(str, [*paths, heavy])) for name, paths in environments.items()}


@pytest.fixture(scope="module")
def said(site: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Spark says of a write, for each of the environments."""
    folder = tmp_path_factory.mktemp("executors")
    (folder / "lines").mkdir()
    (folder / "lines" / "one.txt").write_text("1\n")
    (folder / "chosen_packages.py").write_text(DAEMON)
    command = [sys.executable, "-c", DRIVER, str(folder), json.dumps(environments(folder))]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]),
        "CHOSEN_PATH": str(folder / "path"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    answers: dict[str, str] = json.loads((folder / "said").read_text())
    return answers


PLACE = f"host {socket.gethostname()}, interpreter {sys.executable}"
UNLIKE = f"ConnectorLoadError: the Python of a task is not as the driver's: {PLACE}: "
REMEDY = (
    "for that interpreter, or send the driver's environment along by spark.archives and let PYSPARK_PYTHON name the "
    "Python in it"
)


SENTENCES = {
    "no connector for a stream": (
        f"{UNLIKE}asyncsink-toy is not installed (driver: 1.0); install asyncsink-toy==1.0 {REMEDY}"
    ),
    "another connector": f"{UNLIKE}asyncsink-toy is 2.0 (driver: 1.0); install asyncsink-toy==1.0 {REMEDY}",
    "both": (
        f"{UNLIKE}asyncsink-core is 0.0.1 (driver: {HERE}) and asyncsink-toy is not installed (driver: 1.0); "
        f"install asyncsink-core=={HERE} asyncsink-toy==1.0 {REMEDY}"
    ),
    "no core": (
        f"ImportError: the Python of a task cannot import asyncsink: {PLACE}: No module named 'asyncsink'; "
        f"asyncsink-core is not installed (driver: {HERE}); install asyncsink-core=={HERE} {REMEDY}"
    ),
    "no library": (
        f"ConnectorLoadError: what the driver's Python has sent cannot be loaded by the Python of a task: {PLACE}: "
        f"ModuleNotFoundError: No module named 'a_client_library_that_is_missing'; install what the driver has {REMEDY}"
    ),
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("environment", SENTENCES)
def test_what_an_executor_lacks_is_named(said: dict[str, str], environment: str) -> None:
    lines = [line.strip() for line in said[environment].splitlines()]
    assert any(line.endswith(SENTENCES[environment]) for line in lines), said[environment]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("environment", ["the same", "copied"])
def test_an_executor_that_has_the_same_or_modules_without_a_version_writes(
    said: dict[str, str], environment: str
) -> None:
    assert said[environment] == "written"
