"""A metadata service that is down, slow, or tells nonsense, while rows are written: in virtual time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import anyio
import pytest

from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.metrics import Metrics
from asyncsink_dynamic_kafka.metadata.errors import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.streams import KafkaStream
from asyncsink_testing.virtual_time import virtual

from .harness import Service, World, expected, lettered, records, union, world

SECRET = "top-secret"


class Troubled(Service):
    """Takes its time before it answers, and may leave topics and servers out."""

    delay_s = 0.0
    has_topics = True

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        await anyio.sleep(self.delay_s)
        found = await super().describe_streams(stream_ids)
        return found if self.has_topics else {each: KafkaStream(each, {}) for each in found}


def sink_of(service: Service, **changes: Any) -> World:
    return world(service, stream_metadata_discovery_interval_s=1.0, **changes)


@virtual
async def test_a_service_that_is_down_at_start_fails_the_writer_before_any_cluster_is_connected_to() -> None:
    service = Service(orders={"A": ["orders"]})
    service.is_down = True
    sink = sink_of(service)
    with pytest.raises(MetadataUnavailableError, match=r"the service is down.*nothing is known of stream 'orders'"):
        async with sink.writer():
            pytest.fail("there is nothing to write by")
    assert sink["A"].connected == 0


@virtual
async def test_rows_are_written_through_ten_failures_and_what_has_changed_is_followed_afterwards() -> None:
    service, metrics = Service(orders={"A": ["orders"]}), Metrics()
    sink = sink_of(service)
    async with sink.writer(metric_group=metrics.group) as writer:
        service.is_down = True
        service.streams = {"orders": {"B": ["orders"]}}
        written = 0
        while (told := metrics.snapshot())["numMetadataFailures"] < 10:
            await writer.write_many(records([written]))
            await anyio.sleep(0.5)
            written += 1
        assert told["metadataAgeSeconds"] >= 10
        service.is_down = False
        await anyio.sleep(1)
        await writer.write_many(records(range(written, written + 10)))
        await writer.flush()
        assert metrics.snapshot()["numMetadataFailures"] == 0
    assert sink["A"].values == expected(range(written))
    assert sink["B"].values == expected(range(written, written + 10))


@virtual
async def test_nonsense_leaves_rows_where_they_went_before() -> None:
    service, metrics = Troubled(orders={"A": ["orders"]}), Metrics()
    sink = sink_of(service)
    async with sink.writer(metric_group=metrics.group) as writer:
        service.has_topics = False
        await anyio.sleep(3.5)
        await writer.write_many(records(range(10)))
        assert metrics.snapshot()["numMetadataFailures"] == 3
    assert sink["A"].values == expected(range(10))


@virtual
async def test_nonsense_at_start_is_told() -> None:
    service = Troubled(orders={"A": ["orders"]})
    service.has_topics = False
    with pytest.raises(MetadataError, match="stream 'orders' has no topic"):
        async with sink_of(service).writer():
            pytest.fail("there is nothing to write by")


@virtual
async def test_no_row_waits_for_a_service_that_hangs() -> None:
    service, metrics = Troubled(orders={"A": ["orders"]}), Metrics()
    sink = sink_of(service)
    async with sink.writer(metric_group=metrics.group) as writer:
        service.delay_s = 3600.0
        await anyio.sleep(2)
        with anyio.fail_after(1):
            await writer.write_many(records(range(10)))
            await writer.flush()
        assert sink["A"].values == expected(range(10))
        await anyio.sleep(30)
        assert metrics.snapshot()["numMetadataFailures"] == 1


@virtual
async def test_a_slow_answer_is_waited_for_at_the_start_and_followed_later() -> None:
    service = Troubled(orders={"A": ["orders"]})
    service.delay_s = 20.0
    sink = sink_of(service)
    async with sink.writer() as writer:
        assert anyio.current_time() >= 20
        await writer.write_many(records(range(10)))
        await writer.flush()
        service.streams = {"orders": {"B": ["orders"]}}
        await anyio.sleep(45)
        await writer.write_many(records(range(10, 20)))
    assert (sink["A"].values, sink["B"].values) == (expected(range(10)), expected(range(10, 20)))


# ---- one cluster, two sets of properties -----------------------------------------------------------------------------


class Contradicting(Service):
    """Says of each stream that the cluster has other properties."""

    def _stream(self, stream_id: str) -> KafkaStream:
        for name in self.streams[stream_id]:
            self.properties[name] = {"sasl.jaas.config": f"{SECRET} of {stream_id}"}
        return super()._stream(stream_id)


@virtual
async def test_two_streams_cannot_give_one_cluster_different_properties() -> None:
    service = Contradicting(orders={"A": ["orders"]}, payments={"A": ["payments"]})
    with pytest.raises(MetadataError, match=r"differ in sasl\.jaas\.config.*or the cluster two names") as caught:
        async with sink_of(service).writer():
            pytest.fail("there is nothing to write by")
    assert SECRET not in str(caught.value)


@virtual
async def test_under_two_names_one_cluster_is_written_to_with_the_properties_of_each() -> None:
    service, store = Service(orders={"A": ["orders"]}, payments={"small": ["payments"]}), DeadLetterMemory()
    service.servers = {"A": "shared:9092", "small": "shared:9092"}
    service.properties["small"] = {"max.request.size": "150"}
    sink = sink_of(service, **lettered(store))
    padding = (("padding", b"x" * 200),)
    async with sink.writer() as writer:
        await writer.write_many(
            [*records([0], headers=padding), *records([1, 2], "payments"), *records([3], "payments", headers=padding)]
        )
    assert sink["A"] is sink["small"]
    assert sink["A"].connected == 2
    assert union(sink["A"]) == expected([0, 1, 2])
    assert [each.code for each in store.letters] == ["MESSAGE_TOO_LARGE"]
