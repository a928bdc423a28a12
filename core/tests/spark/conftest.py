"""One Spark session for all tests, with a toy connector and a broken one installed beside the real ones."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

SITE = Path(__file__).with_name("site")
CONNECTORS = {
    "toy": "asyncsink_toy",
    "counting": "asyncsink_counting",
    "staging": "asyncsink_staging",
    "broken": "asyncsink_broken",
}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What an installation of the test connectors would leave, on the path of this Python and of Spark's."""
    folder = tmp_path_factory.mktemp("site")
    for name, module in CONNECTORS.items():
        info = folder / f"asyncsink_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: asyncsink-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[asyncsink]\n{name} = {module}\n")
    with pytest.MonkeyPatch.context() as patch:
        for path in (folder, SITE):
            patch.syspath_prepend(path)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(SITE), os.environ.get("PYTHONPATH", "")]))
        yield folder


@pytest.fixture(scope="session")
def spark(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, and two tries for each task, as on a small cluster."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2, 2]").config(map=settings).getOrCreate()
    yield session
    # One that a failed test has left may wait for a server that is gone, and the session with it.
    for query in session.streams.active:
        query.stop()
    session.stop()


@pytest.fixture
def lines(spark: SparkSession, tmp_path: Path) -> Callable[[Sequence[Sequence[str]]], DataFrame]:
    """Makes a stream with a column `value`, whose n-th micro-batch has the n-th run of lines, in one partition."""

    def make(runs: Sequence[Sequence[str]]) -> DataFrame:
        folder = tmp_path / "lines"
        folder.mkdir()
        for number, run in enumerate(runs):
            file = folder / f"{number:03}.txt"
            file.write_text("".join(f"{line}\n" for line in run))
            # Spark takes the oldest file first.
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
        return spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))

    return make


@pytest.fixture
def run_stream(tmp_path: Path) -> Callable[..., None]:
    """Writes what a stream holds by now; options are given with their names spelt as users do."""

    def run(
        stream: DataFrame, door: str, *, checkpoint: str = "checkpoint", mode: str = "append", **options: Any
    ) -> None:
        writer = stream.writeStream.format(door).options(**options).outputMode(mode)
        query = writer.option("checkpointLocation", str(tmp_path / checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()

    return run


@pytest.fixture
def toy_log(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """Reads what the toy connector wrote into the test's folder `toy`, process by process."""
    folder = tmp_path / "toy"
    folder.mkdir()

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for log in sorted(folder.glob("*.log")) for line in log.read_text().splitlines()]

    return read
