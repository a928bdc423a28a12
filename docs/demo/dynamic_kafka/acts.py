"""What is done to the clusters, and in the midst of which micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dynamic_kafka.clusters import Clusters

Act = Callable[[Clusters], str]
TOPIC, LARGE = "flights", "flights-large"


def begin(clusters: Clusters) -> str:
    clusters.start("A", "B")
    clusters.put_stream_on({"A": [TOPIC]})
    return "clusters A and B run, and the stream is on A"


def add_topic(clusters: Clusters) -> str:
    clusters.create_topic("A", LARGE)
    clusters.put_stream_on({"A": [TOPIC, LARGE]})
    return f"topic {LARGE} is added to the stream"


def remove_topic(clusters: Clusters) -> str:
    clusters.put_stream_on({"A": [TOPIC]})
    return f"topic {LARGE} is removed from the stream"


def migrate(clusters: Clusters) -> str:
    clusters.put_stream_on({"B": [TOPIC]})
    return "the stream moves from A to B"


def shut_down(clusters: Clusters) -> str:
    clusters.shut_down("A")
    return "A is shut down"


def start(clusters: Clusters) -> str:
    clusters.start("C")
    return "cluster C is started"


def join(clusters: Clusters) -> str:
    clusters.put_stream_on({"B": [TOPIC], "C": [TOPIC]})
    return "the stream is on C too"


ACTS: Mapping[int, Act] = {
    3: add_topic,
    6: remove_topic,
    9: migrate,
    12: shut_down,
    13: start,
    16: join,
}
"""By the number of the micro-batch, from 1; each returns what it has done."""
