"""Brokers that cannot tell of transactions: librdkafka's mock cluster is like those before Kafka 3.0 in that."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

from asyncsink import FatalRequestError, run_local
from asyncsink_kafka import KafkaSink
from asyncsink_testing.kafka import MockCluster

TOPIC = "orders"


@pytest.mark.parametrize("topic", [TOPIC, None])
def test_they_are_refused_with_the_reason_before_an_attempt_is_begun(tmp_path: Path, topic: str | None) -> None:
    with MockCluster(topics={TOPIC: 1}) as cluster:
        sink = KafkaSink(bootstrap_servers=cluster.bootstrap, topic=topic, delivery_guarantee="exactly-once")
        with pytest.raises(
            FatalRequestError, match=r"cannot tell of transactions \(KIP-664\).*Kafka 3\.0 or newer, or"
        ):
            anyio.run(partial(run_local, sink, ["1"], tmp_path))
    assert not list(tmp_path.rglob("begin-*"))


def test_at_least_once_has_no_need_of_them(tmp_path: Path) -> None:
    with MockCluster(topics={TOPIC: 1}) as cluster:
        sink = KafkaSink(bootstrap_servers=cluster.bootstrap, topic=TOPIC)
        assert anyio.run(partial(run_local, sink, ["1"], tmp_path)).position == 1
