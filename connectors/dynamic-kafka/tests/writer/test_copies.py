"""What a cluster has not stored when it goes: each record is somewhere, and what others have is not written again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import anyio
import pytest

from asyncsink.errors import ConfigurationError, FatalRequestError, WriterFailedError
from asyncsink.transactions import Transaction
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter, StreamMetadataMap
from asyncsink_dynamic_kafka.writer import origins
from asyncsink_testing.virtual_time import virtual

from .harness import STREAM, Service, expected, records, union
from .test_reconciling import sink_of, stuck

TRANSACTION = Transaction("0123456789abcdef", 1)


@virtual
async def test_a_mirror_that_has_stored_much_before_loses_all_its_clusters_and_no_record() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, router="mirror", removed_cluster_timeout_s=5.0)
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        await writer.flush()
        for each in "AB":
            sink[each].answer = stuck
        await writer.write_many(records(range(10, 15)))
        await anyio.sleep(0.5)
        service.streams[STREAM] = {"C": ["orders"]}
        await writer.flush()
        told = writer.statistics()
    assert sink["C"].values == expected(range(10, 15))
    assert (told.accepted, told.acknowledged) == (15, 15)


@virtual
async def test_clusters_of_a_mirror_that_go_one_after_the_other_leave_every_record_to_the_last() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"], "D": ["orders"]})
    sink = sink_of(service, router="mirror", removed_cluster_timeout_s=5.0)
    for each in "ABD":
        sink[each].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        await anyio.sleep(0.5)
        service.streams[STREAM] = {"B": ["orders"], "D": ["orders"]}
        await anyio.sleep(1.5)
        writer.reconcile_state()
        service.streams[STREAM] = {"D": ["orders"]}
        await anyio.sleep(1.5)
        writer.reconcile_state()
        service.streams[STREAM] = {"C": ["orders"]}
        await writer.flush()
    assert sink["C"].values == expected(range(10))


@virtual
async def test_a_cluster_that_joins_a_mirror_does_not_stand_for_what_was_written_before() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service, router="mirror", removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many(records(range(5)))
        await anyio.sleep(0.5)
        service.streams[STREAM] = {"A": ["orders"], "C": ["orders"]}
        await anyio.sleep(1.5)
        await writer.write_many(records(range(5, 10)))
        service.streams[STREAM] = {"C": ["orders"]}
        await writer.flush()
    assert {*sink["C"].values} == {*expected(range(10))}


@virtual
async def test_rows_of_a_cluster_that_moves_to_other_brokers_go_there_and_to_no_other_cluster() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, router="mirror", delivery_guarantee="exactly-once")
    sink["A"].connect = anyio.sleep_forever
    async with sink.writer(transaction=TRANSACTION) as writer:
        await writer.write_many(records(range(10)))
        service.servers["A"] = "elsewhere:9092"
        await writer.flush()
    assert sink["A"].values == sink["B"].values == expected(range(10))


class Pairs(ReconcilableStreamRouter):
    """Writes each record to the first two cluster topics of three."""

    def __init__(self) -> None:
        self.targets: list[ClusterTopic] = []
        self.is_broken = False

    def route(self, record: KafkaStreamRecord) -> ClusterTopic:
        if record.value == b"broken":
            raise ValueError("broken")
        return self.targets[0]

    def route_all(self, record: KafkaStreamRecord) -> Sequence[ClusterTopic]:
        return [self.route(record), *self.targets[1:2]]

    def reconcile(self, stream_metadata_map: StreamMetadataMap) -> None:
        self.targets = sorted(stream_metadata_map[STREAM])


@virtual
async def test_copies_of_a_router_of_ones_own_have_a_new_place_each() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"], "C": ["orders"]})
    sink = sink_of(service, router=Pairs(), removed_cluster_timeout_s=5.0)
    for each in "AB":
        sink[each].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        await anyio.sleep(0.5)
        service.streams[STREAM] = {"C": ["orders"]}
        await writer.flush()
        told = writer.statistics()
    assert {*sink["C"].values} == {*expected(range(10))}
    assert (told.accepted, told.acknowledged) == (10, 10)


@virtual
async def test_a_router_that_fails_fails_the_writer() -> None:
    sink = sink_of(Service(orders={"A": ["orders"], "B": ["orders"]}), router=Pairs())
    async with sink.writer() as writer:
        await writer.write_many(records(range(3)))
        with pytest.raises(ConfigurationError, match="Pairs"):
            await writer.write_many([*records([3]), KafkaStreamRecord(STREAM, b"broken")])
        with pytest.raises(WriterFailedError, match="Pairs"):
            await writer.flush()
        await writer.aclose()


@virtual
async def test_a_router_that_fails_while_nobody_calls_is_told_at_the_end() -> None:
    sink = sink_of(Service(orders={"A": ["orders"], "B": ["orders"]}), router=Pairs())

    async def use() -> None:
        async with sink.writer() as writer:
            await writer.write(KafkaStreamRecord(STREAM, b"broken"))
            await anyio.sleep(1)

    with pytest.raises(ConfigurationError, match="Pairs"):
        await use()


@virtual
async def test_an_inactive_cluster_that_is_to_fail_the_writer_fails_it_for_good() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, on_inactive_cluster="fail")
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        service.inactive = {"B"}
        await anyio.sleep(2)
        with pytest.raises(FatalRequestError, match="'B' is inactive"):
            await writer.write_many(records(range(10)))
        with pytest.raises(WriterFailedError, match="'B' is inactive"):
            await writer.flush()
        await writer.aclose()


@virtual
async def test_records_that_are_written_one_by_one_and_now_and_then_are_delivered_and_follow_the_metadata() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service)
    async with sink.writer() as writer:
        for number in range(10):
            await writer.write(records([number])[0])
            await anyio.sleep(1)
            if number == 4:
                service.streams[STREAM] = {"B": ["orders"]}
                await anyio.sleep(1.5)
        assert writer.statistics().acknowledged == 10
    assert (sink["A"].values, sink["B"].values) == (expected(range(5)), expected(range(5, 10)))


@virtual
async def test_records_that_are_written_one_by_one_wait_for_room() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service, max_batch_size=10, max_buffered_requests=2000)
    held: Any = anyio.Event()
    sink["A"].answer = lambda batch: held.wait()
    written = 0
    async with sink.writer() as writer, anyio.create_task_group() as group:

        async def write() -> None:
            nonlocal written
            for each in records(range(20_000)):
                await writer.write(each)
                written += 1

        group.start_soon(write)
        await anyio.sleep(1)
        assert 0 < written < 8000
        assert writer.statistics().accepted >= written
        held.set()
    assert union(sink["A"]) == expected(range(20_000))


@virtual
async def test_rows_that_come_from_another_cluster_join_those_that_wait_already() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, router="sticky")
    for each in "AB":
        sink[each].connect = anyio.sleep_forever
    async with sink.writer() as writer:
        await writer.write_many(records(range(50)))
        service.servers["B"] = "b-again:9092"
        service.streams[STREAM] = {"B": ["orders"]}
        await writer.write_many(records(range(50, 60)))
    stored = [each.value or b"" for each in sink["B"].stored["orders"]]
    assert sorted(stored) == expected(range(60))


@virtual
async def test_what_is_remembered_of_streams_that_share_a_topic_has_a_bound() -> None:
    sink = sink_of(Service(orders={"A": ["shared"]}, payments={"A": ["shared"]}), max_time_in_buffer_s=1000.0)
    with mock.patch.object(origins, "MOST", 20):
        async with sink.writer() as writer:
            for start in range(0, 200, 10):
                of_orders, of_payments = range(start, start + 5), range(start + 5, start + 10)
                await writer.write_many([*records(of_orders), *records(of_payments, "payments")])
                await anyio.sleep(0.1)
            assert len(sink["A"].values) >= 150
    assert sink["A"].values == expected(range(200))
