"""Streams, records and routers for tests and strategies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from asyncsink_dynamic_kafka import ClusterTopic, KafkaClusterIdentifier, KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import RoutedRows, StreamBlock, route_rows
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter

STREAMS = ("orders", "payments", "clicks")


def target(cluster: str, topic: str = "t") -> ClusterTopic:
    return ClusterTopic(KafkaClusterIdentifier(cluster, f"{cluster}:9092"), topic)


targets = st.frozensets(st.builds(target, st.sampled_from("ABCDE"), st.sampled_from(["t", "u"])), min_size=1)
maps = st.fixed_dictionaries(dict.fromkeys(STREAMS, targets))
records = st.builds(
    KafkaStreamRecord,
    st.sampled_from(STREAMS),
    value=st.binary(max_size=2),
    key=st.none() | st.binary(max_size=9),
)
runs = st.lists(st.lists(records, max_size=8), max_size=4)


def route_loop(router: ReconcilableStreamRouter, run: Sequence[KafkaStreamRecord]) -> list[tuple[ClusterTopic, int]]:
    """Each record by itself: the cluster topics it goes to, with its place."""
    return [(each, row) for row, record in enumerate(run) for each in router.route_all(record)]


def route_bulk(router: ReconcilableStreamRouter, run: Sequence[KafkaStreamRecord]) -> list[tuple[ClusterTopic, int]]:
    """The same of the bulk form."""
    return pairs(route_rows(router, StreamBlock.of(run)))


def pairs(routed: RoutedRows) -> list[tuple[ClusterTopic, int]]:
    for _, rows in routed:
        assert len(rows)
        assert (np.diff(rows) > 0).all()
    assert len({each for each, _ in routed}) == len(routed)
    return [(each, row) for each, rows in routed for row in rows.tolist()]


def counts(
    found: Iterable[tuple[ClusterTopic, int]], run: Sequence[KafkaStreamRecord], stream_id: str
) -> Counter[ClusterTopic]:
    """How many records of a stream each cluster topic has."""
    return Counter(each for each, row in found if run[row].stream_id == stream_id)
