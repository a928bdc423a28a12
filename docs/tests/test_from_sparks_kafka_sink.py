"""The page on moving from Spark's own Kafka sink: its jobs run, and the one differs from the other as it says."""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from asyncsink_testing.kafka import MockCluster
from asyncsink_testing.kafka.reading import TopicReader

# Each of them starts a Spark of its own, and two start several.
pytestmark = pytest.mark.kafka_service

DOCUMENT = Path(__file__).resolve().parents[1] / "how-to" / "from-sparks-kafka-sink.md"
BLOCKS = re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
JOBS: dict[str, str] = dict(BLOCKS)


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": 2}) as cluster:
        yield cluster


def run(program: str, cluster: MockCluster, folder: Path) -> None:
    (folder / "program.py").write_text(f"{program.replace('broker:9092', cluster.bootstrap)}\nspark.stop()\n")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env={"PYSPARK_PYTHON": sys.executable, **os.environ},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def arriving(*ids: int) -> str:
    """A line of a program: orders come in that a stream has not seen."""
    lines = "\n".join(json.dumps({"id": each, "customer": "anne"}) for each in ids)
    return f"import pathlib; pathlib.Path('incoming/{ids[0]}.json').write_text({lines!r})\n"


def stored(cluster: MockCluster) -> Sequence[int]:
    reader = TopicReader(cluster.bootstrap, "orders")
    try:
        return sorted(json.loads(value or b"")["id"] for value in reader.values())
    finally:
        reader.close()


def test_the_stream_after_differs_by_the_name_and_the_folder_of_dead_letters() -> None:
    lines = difflib.ndiff(JOBS["before"].splitlines(), JOBS["after"].splitlines())
    changed = [line for line in lines if line[0] in "+-"]
    old, new, added = changed
    assert new[2:] == old[2:].replace('format("kafka")', 'format("asyncsink.kafka")')
    assert added == '+ stream = stream.option("deadLetter.path", "dead-letters/orders")'


@pytest.mark.timeout(300)
def test_the_stream_goes_on_from_the_checkpoint_of_another_sink_and_back(cluster: MockCluster, tmp_path: Path) -> None:
    # Another sink of Spark's own stands for that of Kafka, whose jar is not here.
    before, after = JOBS["before"].replace('format("kafka")', 'format("noop")'), JOBS["after"]
    (tmp_path / "incoming").mkdir()
    runs = [arriving(1, 2), before, arriving(3, 4), after, arriving(5), before, arriving(6), after]
    run("".join(runs), cluster, tmp_path)
    assert stored(cluster) == [3, 4, 6]


@pytest.mark.timeout(300)
def test_the_batch_arrives(cluster: MockCluster, tmp_path: Path) -> None:
    run(JOBS["batch"], cluster, tmp_path)
    assert stored(cluster) == [4, 5]


@pytest.mark.timeout(300)
def test_a_wrong_column_is_found_without_any_rows(cluster: MockCluster, tmp_path: Path) -> None:
    empty = JOBS["batch"].replace("writer = rows.write", "writer = rows.limit(0).write").replace("AS value", "AS vlaue")
    assert "limit(0)" in empty
    with pytest.raises(AssertionError, match="there is no column 'value'"):
        run(empty, cluster, tmp_path)
