"""What is written arrives in the clusters of its stream, and the counts say so."""

from __future__ import annotations

import anyio
import pyarrow as pa
import pytest

from asyncsink import ListBlock, WriterClosedError
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.errors import ConversionError, RejectedEntryError
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_testing.virtual_time import virtual

from .harness import STREAM, Service, expected, lettered, records, refuse, union, world


@virtual
async def test_records_are_spread_over_the_clusters_of_their_stream() -> None:
    sink = world(Service(orders={"A": ["orders"], "B": ["orders", "orders-2"]}))
    async with sink.writer() as writer:
        await writer.write_many(records(range(300)))
    assert union(sink["A"], sink["B"]) == expected(range(300))
    assert {topic: len(found) for topic, found in sink["B"].stored.items()} == {"orders": 100, "orders-2": 100}
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.unacknowledged, told.size_in_bytes) == (300, 300, 0, 0)


@virtual
async def test_every_way_of_writing_ends_in_the_same_records() -> None:
    sink = world(Service(orders={"A": ["orders"]}))
    async with sink.writer() as writer:
        await writer.write({"value": "000000", "key": b"a"})
        await writer.write_many([b"000001", "000002"])
        await writer.write_block(ListBlock(records([3]), [10]))
        await writer.write_batch(pa.RecordBatch.from_pydict({"value": ["000004", "000005"], "stream": [STREAM, None]}))
    assert sink["A"].values == expected(range(6))
    assert writer.statistics().acknowledged == 6


@virtual
async def test_a_record_keeps_all_its_parts() -> None:
    sink = world(Service(orders={"A": ["topic"]}))
    made = KafkaStreamRecord(STREAM, b"v", b"k", (("h", b"1"), ("h", None)), timestamp=5, partition=2)
    async with sink.writer() as writer:
        await writer.write(made)
    (stored,) = sink["A"].stored["topic"]
    assert stored == made.kafka_record("topic")


@virtual
async def test_each_stream_goes_to_its_own_clusters() -> None:
    sink = world(Service(orders={"A": ["o"]}, payments={"B": ["p"]}))
    async with sink.writer() as writer:
        await writer.write_many([*records(range(5)), *records(range(5, 9), "payments")])
    assert (sink["A"].values, sink["B"].values) == (expected(range(5)), expected(range(5, 9)))


@virtual
async def test_a_stream_that_is_not_subscribed_is_rejected_for_its_rows_alone() -> None:
    sink, store = world(Service(orders={"A": ["orders"]})), DeadLetterMemory()
    with pytest.raises(RejectedEntryError, match="'unknown' is not among"):
        async with sink.writer() as writer:
            await writer.write_many([*records([0]), *records([1], "unknown"), *records([2])])
    sink = world(Service(orders={"A": ["orders"]}), **lettered(store))
    async with sink.writer() as writer:
        await writer.write_many([*records([0]), *records([1], "unknown"), *records([2])])
    assert sink["A"].values == expected([0, 2])
    assert [each.code for each in store.letters] == ["STREAM_NOT_SUBSCRIBED"]
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.dead_lettered) == (3, 2, 1)


@virtual
async def test_streams_of_a_pattern_join_and_leave_while_rows_are_written() -> None:
    service = Service(**{"orders-a": {"A": ["orders"]}, "orders-b": {"B": ["orders"]}})
    store, pattern = DeadLetterMemory(), "orders-.*"
    sink = world(service, stream_pattern=pattern, stream_metadata_discovery_interval_s=1.0, **lettered(store))
    async with sink.writer() as writer:
        await writer.write_many([*records([0], "orders-a"), *records([1], "orders-b"), *records([2], "orders-c")])
        service.streams["orders-c"] = {"C": ["orders"]}
        service.streams["visits"] = {"C": ["visits"]}
        await anyio.sleep(1.5)
        await writer.write_many([*records([3], "orders-c"), *records([4], "visits")])
        del service.streams["orders-b"]
        await anyio.sleep(1.5)
        await writer.write_many([*records([5], "orders-a"), *records([6], "orders-b")])
    assert [sink[each].values for each in "ABC"] == [expected([0, 5]), expected([1]), expected([3])]
    assert [(each.code, each.route) for each in store.letters] == [
        ("STREAM_NOT_SUBSCRIBED", stream_id) for stream_id in ("orders-c", "visits", "orders-b")
    ]


@virtual
async def test_where_a_row_cannot_be_converted_those_before_it_are_accepted_and_none_after_it() -> None:
    sink = world(Service(orders={"A": ["orders"], "B": ["orders"]}))
    async with sink.writer() as writer:
        with pytest.raises(ConversionError, match="element 2"):
            await writer.write_many([b"a", b"b", object(), b"d"])
        assert writer.statistics().accepted == 2
    assert union(sink["A"], sink["B"]) == [b"a", b"b"]


@virtual
async def test_a_dead_letter_of_a_cluster_has_the_sequence_of_the_whole_writer() -> None:
    store = DeadLetterMemory()
    sink = world(Service(orders={"A": ["orders"], "B": ["orders"]}), **lettered(store))
    for each in "AB":
        sink[each].answer = refuse("INVALID_RECORD", lambda record: record.value == b"000005")
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
    assert [str(each.idempotency_id) for each in store.letters] == ["q/7/3/5"]
    assert union(sink["A"], sink["B"]) == expected([0, 1, 2, 3, 4, 6, 7, 8, 9])
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.dead_lettered, told.unacknowledged) == (10, 9, 1, 0)


@virtual
async def test_a_mirrored_record_is_acknowledged_when_every_copy_is() -> None:
    sink = world(Service(orders={"A": ["orders"], "B": ["orders"]}), router="mirror")
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        assert writer.statistics().acknowledged == 0
        await writer.flush()
        told = writer.statistics()
        assert (told.accepted, told.acknowledged, told.unacknowledged) == (10, 10, 0)
    assert sink["A"].values == sink["B"].values == expected(range(10))


@virtual
async def test_a_mirrored_record_that_two_clusters_refuse_is_one_element() -> None:
    store = DeadLetterMemory()
    sink = world(Service(orders={"A": ["orders"], "B": ["orders"]}), router="mirror", **lettered(store))
    for each in "AB":
        sink[each].answer = refuse("INVALID_RECORD", lambda record: record.value == b"000005")
    sink["A"].answer = refuse("INVALID_RECORD", lambda record: record.value in (b"000005", b"000007"))
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.dead_lettered, told.unacknowledged) == (10, 8, 2, 0)


@virtual
async def test_a_closed_writer_says_so_and_warns_of_what_is_left() -> None:
    sink = world(Service(orders={"A": ["orders"]}), max_time_in_buffer_s=100.0)
    with pytest.warns(ResourceWarning, match="1 unacknowledged"):  # noqa: PT031
        async with sink.writer() as writer:
            await writer.write(b"left")
            await writer.aclose()
    with pytest.raises(WriterClosedError):
        await writer.write(b"more")
    assert writer.statistics().unacknowledged == 1


@virtual
async def test_the_state_is_the_metadata_and_nothing_secret() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    service.properties["B"] = {"client.id": "secret"}
    async with world(service).writer() as writer:
        (state,) = writer.snapshot_state(1)
    assert {each.topic for each in state.stream_metadata_map[STREAM]} == {"orders"}
    assert state.with_own_properties == {"B"}
    assert "secret" not in repr(state)


@virtual
async def test_a_dead_letter_names_the_stream_whichever_cluster_has_refused_the_record() -> None:
    store = DeadLetterMemory()
    sink = world(Service(orders={"A": ["some-topic"]}), max_record_size_in_bytes=500, **lettered(store))
    sink["A"].answer = refuse("INVALID_RECORD", lambda record: record.value == b"000001")
    async with sink.writer() as writer:
        await writer.write_many([*records([1, 2]), KafkaStreamRecord(STREAM, b"x" * 501)])
    read = [sink.entry_serializer.deserialize(1, each.entry or b"") for each in store.letters]
    assert sorted((each.stream_id, (each.value or b"")[:6]) for each in read) == [
        (STREAM, b"000001"),
        (STREAM, b"xxxxxx"),
    ]
