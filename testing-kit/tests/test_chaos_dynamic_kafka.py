"""Kill and replay: how a stream moves between clusters, and how its rows are read back from all of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from asyncsink_testing.chaos.dynamic_kafka_log import CLUSTERS, STREAM_ID, ClustersReader, write_clusters
from asyncsink_testing.chaos.dynamic_kafka_service import STAGES, Migration
from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.kafka_log import PARTITIONS, TOPIC
from asyncsink_testing.chaos.source import row
from asyncsink_testing.chaos.targets import TARGETS
from asyncsink_testing.kafka import MockCluster

SOON_S = 20.0
BOOTSTRAPS = {"A": "localhost:1", "B": "localhost:2"}


# ---- moving ------------------------------------------------------------------------------------------------------


def clusters(file: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(file.read_text())["streams"][STREAM_ID]["clusters"]
    return found


def test_the_stream_moves_from_one_cluster_to_the_other_and_back(tmp_path: Path) -> None:
    file = tmp_path / "streams.json"
    migration = Migration(file, BOOTSTRAPS)
    seen = []
    for _ in range(4):
        migration.move()
        seen.append([*clusters(file)])
    assert seen == [["A"], ["B"], ["A", "B"], ["A"]]
    assert {name for stage in STAGES for name in stage} == {*CLUSTERS}


def test_a_migration_that_was_killed_goes_on_from_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "streams.json"
    for stage in (["A"], ["B"]):
        Migration(file, BOOTSTRAPS).move()
        assert [*clusters(file)] == stage


def test_the_metadata_file_says_where_a_cluster_listens(tmp_path: Path) -> None:
    file = tmp_path / "streams.json"
    Migration(file, BOOTSTRAPS).move()
    assert json.loads(file.read_text())["version"] == 1
    assert clusters(file) == {"A": {"bootstrapServers": "localhost:1", "topics": [TOPIC]}}


def test_spark_knows_the_sink_by_a_name_without_a_dash() -> None:
    assert TARGETS["dynamic-kafka"].format == "asyncsink.dynamic_kafka"
    assert TARGETS["http"].format == "asyncsink.http"


# ---- reading -----------------------------------------------------------------------------------------------------


@pytest.fixture
def running() -> Iterator[dict[str, MockCluster]]:
    with MockCluster(topics={TOPIC: PARTITIONS}) as first, MockCluster(topics={TOPIC: PARTITIONS}) as second:
        yield dict(zip(CLUSTERS, (first, second), strict=True))


def store(cluster: MockCluster, numbers: Sequence[int]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    for each in numbers:
        producer.produce(TOPIC, json.dumps(row(each)), str(each))
    assert producer.flush(SOON_S) == 0


@pytest.fixture
def reader(running: dict[str, MockCluster], tmp_path: Path) -> Iterator[ClustersReader]:
    with closing(ClustersReader(tmp_path)) as opened:
        # Before anybody says where the clusters are there is nothing to read.
        assert opened.fresh() == []
        write_clusters(tmp_path, {name: each.bootstrap for name, each in running.items()})
        yield opened


def test_rows_are_read_from_every_cluster_as_they_come(reader: ClustersReader, running: dict[str, MockCluster]) -> None:
    store(running["A"], [1])
    store(running["B"], [2])
    found: list[int] = []
    deadline_s = time.monotonic() + SOON_S
    while len(found) < 2:
        assert time.monotonic() < deadline_s, found
        found += [each["id"] for each in reader.fresh()]
    assert sorted(found) == [1, 2]


def test_a_row_that_stands_in_both_clusters_is_read_twice(
    reader: ClustersReader, running: dict[str, MockCluster]
) -> None:
    store(running["A"], [1, 2])
    store(running["B"], [2, 3])
    assert sorted(each["id"] for each in reader.everything()) == [1, 2, 2, 3]


def test_a_run_in_which_the_stream_has_not_moved_shows_nothing(
    reader: ClustersReader, running: dict[str, MockCluster]
) -> None:
    store(running["A"], [1, 2])
    with pytest.raises(ChaosError, match="nothing stands in cluster B"):
        reader.everything()
