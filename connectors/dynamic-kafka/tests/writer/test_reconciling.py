"""Clusters and topics come, move and go while rows are written, and no row is lost by it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import RetryPolicy
from asyncsink.errors import DestinationUnavailableError, FatalRequestError, StalledError
from asyncsink.transactions import Transaction
from asyncsink_dynamic_kafka.metadata.errors import MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic, KafkaClusterIdentifier
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_testing.virtual_time import virtual

from .harness import STREAM, Service, World, expected, records, twice, union, world

OFTEN = {"stream_metadata_discovery_interval_s": 1.0}


def sink_of(service: Service, **changes: Any) -> World:
    return world(service, **{**OFTEN, **changes})


async def stuck(batch: Any = None) -> None:
    await anyio.sleep_forever()


@virtual
async def test_a_cluster_that_joins_gets_its_share() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service)
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        service.streams[STREAM] = {"A": ["orders"], "B": ["orders"]}
        await anyio.sleep(2)
        await writer.write_many(records(range(10, 20)))
    assert union(sink["A"], sink["B"]) == expected(range(20))
    assert len(sink["B"].values) == 5


@virtual
async def test_a_cluster_that_is_removed_stores_what_it_was_given_and_is_left() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, max_time_in_buffer_s=100.0)
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        await anyio.sleep(0.1)
        service.streams[STREAM] = {"B": ["orders"]}
        await anyio.sleep(2)
        assert sink["A"].values == []
        await writer.write_many(records(range(10, 20)))
        await anyio.sleep(1)
        assert (len(sink["A"].values), sink["A"].left) == (5, 1)
    assert union(sink["A"], sink["B"]) == expected(range(20))
    assert len(sink["B"].values) == 15


@virtual
async def test_what_a_removed_cluster_does_not_take_goes_to_the_others() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, removed_cluster_timeout_s=5.0, retry=RetryPolicy(timeout_s=120.0))
    sink["A"].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        service.streams[STREAM] = {"B": ["orders"]}
        await writer.flush()
        assert sink["B"].values == expected(range(10))
        assert (writer.statistics().acknowledged, writer.statistics().accepted) == (10, 10)
    assert sink["A"].aborted


@virtual
async def test_headers_keys_and_timestamps_move_with_a_record() -> None:
    service = Service(orders={"A": ["old"]})
    sink = sink_of(service, removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck
    given = records(range(3), headers=(("h", b"1"), ("h", None)), timestamp=5)
    async with sink.writer() as writer:
        await writer.write_many(given)
        await anyio.sleep(0.5)
        service.streams[STREAM] = {"B": ["new"]}
    stored = sorted(sink["B"].stored["new"], key=lambda each: each.value or b"")
    assert [(each.value, each.key, each.headers, each.timestamp) for each in stored] == [
        (each.value, each.key, each.headers, each.timestamp) for each in given
    ]


@virtual
async def test_records_of_two_streams_in_one_topic_go_back_to_their_own_streams() -> None:
    service = Service(orders={"A": ["shared"]}, payments={"A": ["shared"]})
    sink = sink_of(service, removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many([*records(range(5)), *records(range(5, 9), "payments")])
        await anyio.sleep(0.5)
        service.streams = {STREAM: {"B": ["o"]}, "payments": {"B": ["p"]}}
    assert sorted(each.value or b"" for each in sink["B"].stored["o"]) == expected(range(5))
    assert sorted(each.value or b"" for each in sink["B"].stored["p"]) == expected(range(5, 9))


@virtual
async def test_a_cluster_that_cannot_be_reached_holds_up_only_its_own_rows() -> None:
    service = Service(orders={"A": ["orders"]}, payments={"B": ["payments"]})
    sink = sink_of(service)
    sink["A"].connect = anyio.sleep_forever
    async with sink.writer() as writer:
        await writer.write_many([*records(range(5)), *records(range(5, 9), "payments")])
        await anyio.sleep(1)
        assert sink["B"].values == expected(range(5, 9))
        service.streams[STREAM] = {"C": ["orders"]}
    assert sink["C"].values == expected(range(5))


@virtual
async def test_a_write_that_waits_for_a_dead_cluster_goes_on_when_that_is_removed() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service, max_batch_size=10, max_buffered_requests=20, removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck
    done = anyio.Event()
    async with sink.writer() as writer, anyio.create_task_group() as group:

        async def write() -> None:
            for start in range(0, 300, 10):
                await writer.write_many(records(range(start, start + 10)))
            done.set()

        group.start_soon(write)
        await anyio.sleep(3)
        assert not done.is_set()
        service.streams[STREAM] = {"B": ["orders"]}
        await done.wait()
    assert sink["B"].values == expected(range(300))


@virtual
async def test_a_cluster_with_new_brokers_is_connected_to_anew() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service)
    before = sink["A"]
    async with sink.writer() as writer:
        await writer.write_many(records(range(5)))
        service.servers["A"] = "elsewhere:9092"
        await anyio.sleep(2)
        await writer.write_many(records(range(5, 10)))
    assert (before.values, sink["A"].values) == (expected(range(5)), expected(range(5, 10)))
    assert before.left == 1


@virtual
async def test_a_cluster_with_other_properties_is_connected_to_anew() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service)
    async with sink.writer() as writer:
        await writer.write_many(records(range(5)))
        service.properties["A"] = {"acks": "1", "enable.idempotence": "false"}
        await anyio.sleep(2)
        await writer.write_many(records(range(5, 10)))
    assert sink["A"].connected == 2
    assert sink["A"].values == expected(range(10))


@virtual
async def test_topics_of_a_living_cluster_come_and_go() -> None:
    service = Service(orders={"A": ["one"]})
    sink = sink_of(service)
    async with sink.writer() as writer:
        await writer.write_many(records(range(4)))
        service.streams[STREAM] = {"A": ["one", "two"]}
        await anyio.sleep(2)
        await writer.write_many(records(range(4, 8)))
        service.streams[STREAM] = {"A": ["two"]}
        await anyio.sleep(2)
        await writer.write_many(records(range(8, 12)))
    assert {topic: len(found) for topic, found in sink["A"].stored.items()} == {"one": 6, "two": 6}
    assert sink["A"].connected == 1


@virtual
async def test_metadata_that_says_the_same_again_changes_nothing() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service)
    async with sink.writer() as writer:
        for start in range(0, 50, 10):
            await writer.write_many(records(range(start, start + 10)))
            await anyio.sleep(1.5)
    assert service.calls > 3
    assert (sink["A"].connected, sink["B"].connected) == (1, 1)
    assert (len(sink["A"].values), len(sink["B"].values)) == (25, 25)


# ---- inactive clusters --------------------------------------------------------------------------------------------


@virtual
async def test_rows_of_an_inactive_cluster_spill_over_to_the_others() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    service.inactive = {"A"}
    sink = sink_of(service)
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        service.inactive = set()
        await anyio.sleep(2)
        await writer.write_many(records(range(10, 20)))
    assert union(sink["A"], sink["B"]) == expected(range(20))
    assert len(sink["A"].values) == 5


@virtual
async def test_rows_wait_where_a_stream_has_no_active_cluster() -> None:
    service = Service(orders={"A": ["orders"]})
    service.inactive = {"A"}
    sink = sink_of(service)
    async with sink.writer() as writer, anyio.create_task_group() as group:
        group.start_soon(writer.write_many, records(range(10)))
        await anyio.sleep(5)
        assert (sink["A"].connected, writer.statistics().unacknowledged) == (0, 10)
        service.inactive = set()
    assert sink["A"].values == expected(range(10))


@virtual
async def test_rows_wait_no_longer_than_a_stalled_writer_may() -> None:
    service = Service(orders={"A": ["orders"]})
    service.inactive = {"A"}
    with pytest.raises(StalledError, match="streams orders"):
        async with sink_of(service, stall_timeout_s=31.0).writer() as writer:
            await writer.write_many(records(range(10)))


@virtual
async def test_rows_wait_for_their_own_cluster_where_that_is_asked_for() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    service.inactive = {"A"}
    sink = sink_of(service, on_inactive_cluster="wait")
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        await anyio.sleep(5)
        assert (sink["A"].connected, len(sink["B"].values)) == (0, 5)
        service.inactive = set()
    assert (len(sink["A"].values), len(sink["B"].values)) == (5, 5)


@virtual
async def test_an_inactive_cluster_fails_the_writer_where_that_is_asked_for() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    with pytest.raises(FatalRequestError, match="cluster 'B' is inactive"):  # noqa: PT012
        async with sink_of(service, on_inactive_cluster="fail").writer() as writer:
            await writer.write_many(records(range(10)))
            service.inactive = {"B"}
            await anyio.sleep(2)
            await writer.write_many(records(range(10)))


# ---- failures -----------------------------------------------------------------------------------------------------


@virtual
async def test_a_cluster_that_fails_is_named() -> None:
    sink = sink_of(Service(orders={"A": ["orders"], "B": ["orders"]}))
    sink["B"].answer = stuck
    with pytest.raises(DestinationUnavailableError, match="cluster 'B'"):
        async with sink.writer() as writer:
            await writer.write_many(records(range(10)))


@virtual
async def test_a_cluster_that_refuses_credentials_is_named() -> None:
    async def refuse() -> None:
        raise FatalRequestError("SASL_AUTHENTICATION_FAILED: no")

    sink = sink_of(Service(orders={"A": ["orders"], "B": ["orders"]}))
    sink["B"].connect = refuse
    with pytest.raises(FatalRequestError, match="cluster 'B': SASL"):
        async with sink.writer() as writer:
            await writer.write_many(records(range(10)))


@virtual
async def test_a_service_that_fails_too_often_fails_the_writer() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service, stream_metadata_discovery_failure_threshold=3)
    with pytest.raises(MetadataUnavailableError, match="threshold"):  # noqa: PT012
        async with sink.writer() as writer:
            service.is_down = True
            await anyio.sleep(3.5)
            await writer.write_many(records(range(10)))
            await anyio.sleep(3)
            await writer.flush()
    assert sink["A"].values == expected(range(10))


@virtual
async def test_a_writer_starts_by_its_state_while_the_service_is_down() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service)
    async with sink.writer() as writer:
        (state,) = writer.snapshot_state(1)
    service.is_down = True
    async with sink.writer(state) as writer:
        await writer.write_many(records(range(10)))
    assert sink["A"].values == expected(range(10))


@virtual
async def test_a_cluster_that_needs_its_own_properties_waits_for_the_service() -> None:
    topics = frozenset(ClusterTopic(KafkaClusterIdentifier(each, f"{each.lower()}:9092"), "orders") for each in "AB")
    state = DynamicKafkaWriterState({STREAM: topics}, 1, frozenset({"B"}))
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    service.is_down, service.properties["B"] = True, {"client.id": "own"}
    sink = sink_of(service)
    async with sink.writer(state) as writer:
        await writer.write_many(records(range(10)))
        await writer.flush()
        assert (len(sink["A"].values), sink["B"].connected) == (10, 0)
        service.is_down = False
        await anyio.sleep(2)
        await writer.write_many(records(range(10, 20)))
    assert len(sink["B"].values) == 5


# ---- mirrors and transactions -------------------------------------------------------------------------------------


@virtual
async def test_a_mirror_that_loses_a_cluster_has_its_copies_elsewhere() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, router="mirror", removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        service.streams[STREAM] = {"B": ["orders"]}
        await writer.flush()
        told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.unacknowledged) == (10, 10, 0)
    assert sink["B"].values == expected(range(10))


@virtual
async def test_a_mirror_that_loses_all_its_clusters_writes_to_the_new_ones() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, router="mirror", removed_cluster_timeout_s=5.0)
    for each in "AB":
        sink[each].connect = anyio.sleep_forever
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        service.streams[STREAM] = {"C": ["orders"]}
    assert sink["C"].values == expected(range(10))


TRANSACTION = Transaction("0123456789abcdef", 1)


@virtual
async def test_a_removed_cluster_that_holds_a_transaction_and_does_not_answer_fails_the_writer() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, delivery_guarantee="exactly-once", removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck
    with pytest.raises(FatalRequestError, match="cluster 'A': it was removed"):  # noqa: PT012
        async with sink.writer(transaction=TRANSACTION) as writer:
            await writer.write_many(records(range(10)))
            await anyio.sleep(0.5)
            service.streams[STREAM] = {"B": ["orders"]}
            await writer.flush()


@virtual
async def test_rows_that_no_writer_has_are_routed_anew_exactly_once() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, delivery_guarantee="exactly-once")
    sink["A"].connect = anyio.sleep_forever
    async with sink.writer(transaction=TRANSACTION) as writer:
        await writer.write_many(records(range(10)))
        service.streams[STREAM] = {"B": ["orders"]}
    assert (sink["B"].values, twice(sink["B"].values)) == (expected(range(10)), [])


@virtual
async def test_a_commit_has_the_transactions_of_all_clusters_and_of_those_that_were_removed() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, delivery_guarantee="exactly-once")
    async with sink.writer(transaction=TRANSACTION) as writer:
        await writer.write_many(records(range(10)))
        await anyio.sleep(0.5)
        service.streams[STREAM] = {"B": ["orders"], "C": ["orders"]}
        await anyio.sleep(2)
        await writer.write_many(records(range(10, 20)))
        prepared = await writer.prepare_commit(True)
        assert {each.cluster.name: each.transaction.records for each in prepared} == {"A": 5, "B": 10, "C": 5}
        assert await writer.prepare_commit(True) == []
    assert union(sink["A"], sink["B"], sink["C"]) == expected(range(20))
