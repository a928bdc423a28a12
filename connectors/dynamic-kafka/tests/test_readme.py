"""What the README says is so: its programs run, its options are read, and its defaults are the code's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink import WriterOptions
from asyncsink.options import parse_options
from asyncsink_dynamic_kafka import (
    ClusterTopic,
    DynamicKafkaOptions,
    DynamicKafkaSink,
    KafkaClusterIdentifier,
    KafkaStreamRecord,
)
from asyncsink_dynamic_kafka.converter import STREAM
from asyncsink_dynamic_kafka.routing.names import STANDARD
from asyncsink_dynamic_kafka.service_options import SERVICES
from asyncsink_dynamic_kafka.sink import PROGRESS_METRICS
from asyncsink_dynamic_kafka.writer.streams import NOT_SUBSCRIBED
from asyncsink_kafka import KafkaOptions
from asyncsink_kafka.columns import COLUMN_TYPES
from asyncsink_testing.kafka import MockCluster
from asyncsink_testing.kafka.reading import TopicReader

README = (Path(__file__).parent.parent / "README.md").read_text()
FILE = {"streamIds": "orders", "metadataService": "file", "metadataService.path": "/shared/streams.yaml"}


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`=]+)`", cell)


@cache
def block(word: str) -> dict[str, Any]:
    """The names that the one block of Python with a word in it makes."""
    (code,) = (each for each in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if word in each)
    made: dict[str, Any] = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec", dont_inherit=True), made)
    return made


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, MockCluster]]:
    topics = dict.fromkeys(("orders", "payments"), 2)
    with MockCluster(topics=topics) as blue, MockCluster(topics=topics) as green:
        yield {"blue": blue, "green": green}


def stored(clusters: Mapping[str, MockCluster], topic: str) -> dict[str, list[bytes]]:
    """What each cluster has in a topic, in no order."""
    found: dict[str, list[bytes]] = {}
    for name, cluster in clusters.items():
        reader = TopicReader(cluster.bootstrap, topic)
        try:
            found[name] = sorted(each or b"" for each in reader.values())
        finally:
            reader.close()
    return found


def test_the_programs_run_as_they_stand(tmp_path: Path, clusters: Mapping[str, MockCluster]) -> None:
    streams = {
        stream_id: {"clusters": {
            name: {"bootstrapServers": cluster.bootstrap, "topics": [stream_id]} for name, cluster in clusters.items()
        }}
        for stream_id in ("orders", "payments")
    }  # fmt: skip
    path = tmp_path / "streams.json"
    path.write_text(json.dumps({"version": 1, "streams": streams}))
    anyio.run(block("async def main")["main"], str(path))
    orders = stored(clusters, "orders")
    expected = [b"one coffee", *(b"coffee %d" % number for number in range(1000))]
    assert sorted([*orders["blue"], *orders["green"]]) == sorted(expected)
    assert abs(len(orders["blue"]) - len(orders["green"])) <= 1

    service = block("class EveryCluster")["EveryCluster"]
    servers = {name: cluster.bootstrap for name, cluster in clusters.items()}
    sink = DynamicKafkaSink(metadata_service=service(servers), stream_ids=["payments"], router="mirror")

    async def pay() -> None:
        async with sink.open() as writer:
            await writer.write(b"0.50")

    anyio.run(pay)
    assert [b"0.50" in values for values in stored(clusters, "payments").values()] == [True, True]


def test_the_query_has_options_that_are_read() -> None:
    (query,) = re.findall(r"```python\nquery = (.*?)```", README, re.DOTALL)
    options = dict(re.findall(r'\.option\("([^"]+)", "([^"]+)"\)', query))
    assert options.pop("checkpointLocation")
    found, _ = parse_options(options, DynamicKafkaOptions, WriterOptions)
    assert (found.streams, found.metadata_service) == (("orders",), "file")


def test_the_router_of_ones_own_chooses_the_last_cluster() -> None:
    router = block("class LastByName")["LastByName"]()
    blue, green = (ClusterTopic(KafkaClusterIdentifier(each, f"{each}:9092"), "orders") for each in ("blue", "green"))
    router.reconcile({"orders": frozenset({blue, green})})
    assert router.route(KafkaStreamRecord("orders", b"one")) == green


def test_the_table_of_columns_has_each_column() -> None:
    assert {name for cells in rows("Columns") for name in names(cells[0])} == {STREAM, *COLUMN_TYPES} - {"topic"}
    assert NOT_SUBSCRIBED in README


def test_every_option_that_the_connector_adds_is_in_the_table() -> None:
    own = {each.name for each in DynamicKafkaOptions.describe()} - {each.name for each in KafkaOptions.describe()}
    told = {name for cells in rows("Options") for name in names(cells[0])}
    assert told == own | {"bootstrapServers", "deliveryGuarantee"}


def test_each_default_in_the_table_is_the_codes() -> None:
    defaults = {names(option)[0]: default for option, default, *_ in rows("Options")}
    options = DynamicKafkaOptions.from_options(FILE)
    assert defaults["metadataService.timeout"] == f"{options.metadata_service_timeout_s:g} s"
    assert defaults["streamMetadataDiscoveryInterval"] == f"{options.stream_metadata_discovery_interval_s:g} s"
    assert defaults["streamMetadataDiscoveryFailureThreshold"] == str(
        options.stream_metadata_discovery_failure_threshold
    )
    assert defaults["router"] == f"`{options.router}`"
    assert defaults["onInactiveCluster"] == f"`{options.on_inactive_cluster}`"
    assert defaults["removedClusterTimeout"] == f"{options.removed_cluster_timeout_s:g} s"
    assert defaults["deliveryGuarantee"] == f"`{options.delivery_guarantee}`"


def test_every_router_and_every_service_is_in_its_table() -> None:
    assert [names(cells[0])[0] for cells in rows("Routers")] == [*STANDARD, "package.module:Class"]
    sources = [names(cells[0])[0] for cells in rows("Where metadata comes from") if cells[0].startswith("`")]
    assert {*SERVICES, "package.module:Class"} <= {*sources}


def test_the_metrics_that_are_named_are_kept() -> None:
    told = re.findall(r"`((?:cluster\.<name>\.)?(?:num|metadataAge)[A-Z]\w+)`", README)
    assert len({*told}) == 4
    assert {name.replace("<name>", "*") for name in told} <= {*PROGRESS_METRICS}
