"""The page on FLIP-515 has every member of the proposal, and names nothing of ours that there is not."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import asyncsink_dynamic_kafka
from asyncsink import ConfigurationError
from asyncsink_dynamic_kafka import DynamicKafkaOptions

PAGE = (Path(__file__).resolve().parents[1] / "reference" / "flip-515.md").read_text()
MEMBERS = {
    "DynamicKafkaSink": (
        "builder",
        "kafkaStreamRecordSerializer",
        "subscribedStreamIds",
        "kafkaMetadataService",
        "kafkaProducerConfig",
    ),
    "DynamicKafkaSinkBuilder": (
        "setSubscribedStreamIds",
        "setKafkaMetadataService",
        "setKafkaStreamRecordSerializer",
        "setProperty",
        "build",
    ),
    "KafkaStreamRecord": ("streamId", "headers", "key", "value", "timestamp"),
    "KafkaStreamRecordSerializer": ("open", "serialize"),
    "ReconcilableStreamRouter": ("route", "reconcile"),
    "RoundRobinReconcilableStreamRouter": (),
    "ClusterTopic": ("kafkaClusterIdentifier", "topic"),
    "KafkaClusterIdentifier": ("name", "bootstrapServers"),
    "DynamicKafkaWriter": ("reconcileState", "write", "flush", "snapshotState", "close"),
    "DynamicKafkaWriterState": ("streamMetadataMap",),
    # These are FLIP-246's.
    "KafkaMetadataService": ("getAllStreams", "describeStreams", "isClusterActive", "close"),
    "KafkaStream": ("streamId", "clusterMetadataMap"),
    "ClusterMetadata": ("topics", "properties"),
    "SingleClusterTopicMetadataService": (),
}
"""Every class of the proposal, with what it declares."""

FILE = {"metadataService": "file", "metadataService.path": "/shared/streams.yaml"}
SAMPLES = {
    "stream-metadata-discovery-interval-ms": {**FILE, "streamIds": "orders"},
    "stream-metadata-discovery-failure-threshold": {**FILE, "streamIds": "orders"},
    "metadata-service": {
        "metadataService.clusterId": "blue",
        "bootstrapServers": "blue-1:9092",
        "streamIds": "orders",
    },
    "metadata-service.cluster-id": {
        "metadataService": "single-cluster",
        "bootstrapServers": "blue-1:9092",
        "streamIds": "orders",
    },
    "stream-ids": FILE,
    "stream-pattern": FILE,
}
"""Flink's options that are read, with what has to stand beside each."""


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows() -> dict[str, list[str]]:
    """The members of the proposal, and all names of ours in the two cells that tell of each."""
    members: dict[str, list[str]] = {}
    for heading in ("Sink and builder", "Records", "Routing", "Writer and state", "Metadata service"):
        for member, ours, otherwise in re.findall(r"^\| `([\w.]+)` \| (.+?) \| (.*?) ?\|$", section(heading), re.M):
            more = re.findall(r"`((?:\w+\.)*[A-Z]\w+(?:\.\w+)+)`", otherwise)
            members[member] = [*re.findall(r"`([\w.]+)`", ours), *more]
    return members


def found(name: str) -> object:
    """What our package has by a public name, or by one with its module before it; raises AttributeError otherwise."""
    first, _, rest = name.partition(".")
    is_public = first in asyncsink_dynamic_kafka.__all__
    owner = asyncsink_dynamic_kafka if is_public else import_module(f"asyncsink_dynamic_kafka.{first}")
    return attrgetter(name if is_public else rest)(owner)


def test_every_member_of_the_proposal_is_in_a_table_and_nothing_else() -> None:
    members = {f"{name}.{member}" for name, declared in MEMBERS.items() for member in declared}
    assert rows().keys() == members | MEMBERS.keys()


@pytest.mark.parametrize(("member", "ours"), rows().items())
def test_what_a_member_is_called_here_exists(member: str, ours: list[str]) -> None:
    assert ours, f"{member} has no name of ours"
    for name in ours:
        found(name)


def test_what_is_ours_beside_it_exists() -> None:
    builder = set(re.findall(r"`(set_\w+)`", section("Sink and builder")))
    owner = import_module("asyncsink_dynamic_kafka.builder").DynamicKafkaSinkBuilder
    assert {"set_router", "set_delivery_guarantee"} <= builder
    assert [name for name in builder if not hasattr(owner, name)] == []
    routers = re.findall(r"`(\w+Router)`", section("Routing"))
    assert len({*routers}) == 5
    assert [name for name in routers if name not in asyncsink_dynamic_kafka.__all__] == []


def test_flinks_options_are_read_by_their_names() -> None:
    values = {
        "stream-metadata-discovery-interval-ms": "1",
        "metadata-service": "single-cluster",
        "stream-metadata-discovery-failure-threshold": "3",
    }
    told = re.findall(r"^\| `([\w.-]+)` \|", section("Options"), re.MULTILINE)
    for name in told:
        if name in SAMPLES:
            DynamicKafkaOptions.from_options({**SAMPLES[name], name: values.get(name, "orders")})
            continue
        with pytest.raises(ConfigurationError, match="removedClusterTimeout"):
            DynamicKafkaOptions.from_options({**FILE, "streamIds": "orders", name: "1"})
    assert {*SAMPLES} < {*told}


def test_the_defaults_are_the_codes() -> None:
    told = dict(re.findall(r"^\| `([\w.-]+)` \| .*? \| ([\d ]+);", section("Options"), re.MULTILINE))
    options = DynamicKafkaOptions.from_options({**FILE, "streamIds": "orders"})
    assert {name: int(number.replace(" ", "")) for name, number in told.items()} == {
        "stream-metadata-discovery-interval-ms": options.stream_metadata_discovery_interval_s * 1000,
        "stream-metadata-discovery-failure-threshold": options.stream_metadata_discovery_failure_threshold,
    }
