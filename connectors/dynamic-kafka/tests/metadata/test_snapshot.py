"""A picture of streams: what is in it, and what nobody can write by."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka import (
    ClusterMetadata,
    ClusterTopic,
    KafkaClusterIdentifier,
    KafkaStream,
    MetadataError,
)
from asyncsink_dynamic_kafka.metadata.snapshot import StreamMetadata

from .services import cluster, stream

A = KafkaClusterIdentifier("A", "a:9092")


def test_a_picture_holds_the_topics_of_each_stream_and_each_cluster_once() -> None:
    picture = StreamMetadata.of([stream("orders", A="one two", B="one"), stream("visits", A="three")], 7)
    a, b = (picture.clusters[name].identifier for name in "AB")
    assert picture.streams == {
        "orders": {ClusterTopic(a, "one"), ClusterTopic(a, "two"), ClusterTopic(b, "one")},
        "visits": {ClusterTopic(a, "three")},
    }
    assert (a, picture.known_at_ms, picture.is_restored) == (A, 7, False)


def test_bootstrap_servers_in_another_order_are_the_same() -> None:
    def picture(servers: str) -> StreamMetadata:
        metadata = ClusterMetadata(frozenset({"orders"}), {"bootstrap.servers": servers})
        return StreamMetadata.of([KafkaStream("orders", {"A": metadata})], 0)

    assert picture("b:2, a:1,").says_the_same_as(picture("a:1,b:2"))
    assert picture("b:2,a:1").clusters["A"].identifier.bootstrap_servers == "a:1,b:2"
    assert not picture("a:1").says_the_same_as(picture("a:2"))


def test_a_cluster_without_a_topic_is_left_out() -> None:
    assert set(StreamMetadata.of([stream("orders", A="", B="orders")], 0).clusters) == {"B"}


def test_what_is_writable_leaves_inactive_clusters_out() -> None:
    picture = StreamMetadata.of([stream("orders", A="one", B="two"), stream("visits", B="two")], 0, {"B"})
    assert picture.writable == {"orders": {ClusterTopic(A, "one")}, "visits": frozenset()}
    assert [each.is_active for each in picture.clusters.values()] == [True, False]


def test_own_properties_stand_without_bootstrap_servers() -> None:
    picture = StreamMetadata.of([KafkaStream("orders", {"A": cluster("A", "orders", linger_ms="5")})], 0)
    assert picture.clusters["A"].properties == {"linger.ms": "5"}


def test_identifiers_are_ordered_by_name_and_then_by_servers() -> None:
    given = [KafkaClusterIdentifier("B", "a:1"), KafkaClusterIdentifier("A", "b:1"), KafkaClusterIdentifier("A", "a:1")]
    assert sorted(given) == given[::-1]


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("streams", "told"),
    [
        pytest.param(
            [
                stream("orders"),
                KafkaStream("visits", {"A": ClusterMetadata(frozenset({"v"}), {"bootstrap.servers": "z:1"})}),
            ],
            "two clusters have the name 'A'.*a:9092",
            id="two-of-one-name",
        ),
        pytest.param(
            [
                KafkaStream("orders", {"A": cluster("A", "orders", sasl_username="me", sasl_password=SECRET)}),
                KafkaStream("visits", {"A": cluster("A", "visits", sasl_username="me", acks="1")}),
            ],
            r"'visits' than in another stream: they differ in acks, sasl\.password;",
            id="contradicting-properties",
        ),
        pytest.param([stream("orders", A="", B="")], "stream 'orders' has no topic in any cluster", id="no-topic"),
        pytest.param([KafkaStream("orders", {})], "stream 'orders' has no topic", id="no-cluster"),
        pytest.param([stream("orders"), stream("orders")], "tells of stream 'orders' twice", id="twice"),
        pytest.param(
            [KafkaStream("orders", {"A": ClusterMetadata(frozenset({"o"}), {"acks": SECRET})})],
            r"cluster 'A' of stream 'orders' needs .* bootstrap\.servers",
            id="no-servers",
        ),
        pytest.param([KafkaStream("orders", {"": cluster("", "o")})], "cluster '' of stream 'orders'", id="no-name"),
        pytest.param([stream("orders", A="a/b")], "'a/b'", id="no-topic-has-that-name"),
    ],
)
def test_what_nobody_can_write_by_is_refused_by_name(streams: list[KafkaStream], told: str) -> None:
    with pytest.raises(MetadataError, match=told) as caught:
        StreamMetadata.of(streams, 0)
    assert SECRET not in str(caught.value)
    assert isinstance(caught.value, ConfigurationError)


@pytest.mark.parametrize(
    ("topics", "properties", "told"),
    [
        ("orders", {"bootstrap.servers": "a:1"}, "has the topics 'orders'; give a set"),
        ({1}, {"bootstrap.servers": "a:1"}, "has the topics {1}"),
        ({"orders"}, {"bootstrap.servers": "a:1", "linger.ms": 5}, r"'linger\.ms' of cluster 'A'.*type int; write"),
    ],
)
def test_other_types_than_the_interface_asks_for_are_refused(topics: Any, properties: Any, told: str) -> None:
    with pytest.raises(MetadataError, match=told):
        StreamMetadata.of([KafkaStream("orders", {"A": ClusterMetadata(topics, properties)})], 0)


def test_values_of_properties_are_not_shown() -> None:
    told = KafkaStream("orders", {"A": cluster("A", "orders", sasl_password=SECRET)})
    shown = f"{told!r} {StreamMetadata.of([told], 0)!r}"
    assert SECRET not in shown
    assert shown.count("sasl.password") == 2
