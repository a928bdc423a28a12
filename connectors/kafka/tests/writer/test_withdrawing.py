"""What one writer could not deliver is another's to deliver: nothing is lost, and nothing is held twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import numpy as np
import pyarrow as pa
import pytest

from asyncsink import RetryPolicy, WriterClosedError, WriterFailedError, WriterInitContext
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.errors import DestinationUnavailableError, OversizedEntryError, RequestRejectedError
from asyncsink.transactions import Transaction
from asyncsink_kafka import KafkaRecord, KafkaSink
from asyncsink_kafka.records import Records
from asyncsink_testing.kafka import MockCluster
from asyncsink_testing.virtual_time import virtual

from .harness import QUICK, TOPIC, FakeClient, FakeSink, expected, lettered, records, refuse, writer_of


def columns(values: Sequence[int], **fields: Any) -> Records:
    return Records.of(records(values, **fields), np.asarray(values, dtype=np.int64))


def numbers(store: DeadLetterMemory) -> list[str]:
    """The sequences of the rows that have become dead letters."""
    return [str(each.idempotency_id).rpartition("/")[2] for each in store.letters]


def values_of(withdrawn: Records | None) -> list[bytes]:
    assert withdrawn is not None
    found: list[bytes] = withdrawn.value.to_pylist()
    return found


# ---- rows that are columns already --------------------------------------------------------------------------------


@virtual
async def test_rows_keep_the_sequences_that_they_were_given() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    async with writer_of(client, max_record_size_in_bytes=500, **lettered(store)) as writer:
        await writer.write_records(columns([3, 7]))
        large = Records.of([KafkaRecord(value=b"x" * 501), *records([42])], np.asarray([41, 42], dtype=np.int64))
        await writer.write_records(large)
        await writer.flush()
        assert numbers(store) == ["41"]
        await writer.write({"value": b"x" * 501})
    assert numbers(store) == ["41", "43"]
    assert client.values == expected([3, 7, 42])


@virtual
async def test_rows_are_checked_as_those_of_a_batch() -> None:
    client = FakeClient()
    async with writer_of(client, max_record_size_in_bytes=500) as writer:
        with pytest.raises(OversizedEntryError, match="500"):
            await writer.write_records(Records.of([*records([0]), KafkaRecord(value=b"x" * 501), *records([2])]))
        assert writer.statistics().accepted == 1
    assert client.values == expected([0])


@virtual
async def test_what_a_cancelled_call_has_accepted_are_the_first_rows_those_included_that_are_given_up() -> None:
    client, store, release = FakeClient(), DeadLetterMemory(), anyio.Event()
    client.answer = lambda batch: release.wait()
    limits = {"max_batch_size": 2, "max_buffered_requests": 4, "max_record_size_in_bytes": 500, **lettered(store)}
    large = [KafkaRecord(value=b"x" * 501)]
    given = Records.of([*records([0, 1]), *large, *records(range(3, 40)), *large])
    async with writer_of(client, **limits) as writer:
        with anyio.move_on_after(1) as scope:
            await writer.write_records(given)
        assert scope.cancelled_caught
        accepted = writer.statistics().accepted
        assert 3 < accepted < 40
        release.set()
    assert client.values == expected([0, 1, *range(3, accepted)])
    assert numbers(store) == ["2"]


# ---- withdrawing --------------------------------------------------------------------------------------------------


@virtual
async def test_what_is_held_anywhere_comes_back_in_order_and_as_it_was() -> None:
    client, release = FakeClient(), anyio.Event()
    client.answer = lambda batch: release.wait() if batch[0].partition == 1 else None
    fields = {"headers": (("a", b"b"), ("a", None)), "timestamp": 5}
    async with writer_of(client, max_batch_size=5, max_time_in_buffer_s=0.001) as writer:
        await writer.write_many(records(range(20), partition=0, **fields))
        await writer.write_many(records(range(20, 40), partition=1, **fields))
        await anyio.sleep(1)  # the first are stored, one batch is under way, and others wait behind it
        await writer.write_many(records(range(40, 50), partition=1, **fields))
        withdrawn = await writer.withdraw()
        assert withdrawn is not None
        assert withdrawn.sequence.tolist() == list(range(20, 50))
        assert withdrawn.record(0) == KafkaRecord(topic=TOPIC, **vars_of(records([20], **fields)[0]))
        told = writer.statistics()
    assert values_of(withdrawn) == expected(range(20, 50))
    assert client.values == expected(range(20))
    assert client.aborted
    assert (told.accepted, told.acknowledged, told.unacknowledged, told.size_in_bytes) == (20, 20, 0, 0)


def vars_of(record: KafkaRecord) -> dict[str, Any]:
    return {"value": record.value, "key": record.key, "headers": record.headers, "timestamp": record.timestamp}


@virtual
async def test_rows_whose_topic_is_still_asked_for_come_back() -> None:
    client = FakeClient()
    async with writer_of(client, topic=None, max_time_in_buffer_s=0.001) as writer:
        await writer.write_many(records(range(3), topic="not-there-yet"))
        await anyio.sleep(0.5)
        await writer.write_many(records(range(3, 5), topic="not-there-yet"))
        withdrawn = await writer.withdraw()
        assert withdrawn is not None
        assert withdrawn.topic is not None
        assert withdrawn.topic.to_pylist() == ["not-there-yet"] * 5
    assert values_of(withdrawn) == expected(range(5))
    assert client.values == []


@virtual
async def test_a_writer_that_holds_nothing_withdraws_nothing_and_is_closed() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        await writer.write_many(records(range(3)))
        await writer.flush()
        assert await writer.withdraw() is None
        with pytest.raises(WriterClosedError):
            await writer.write(b"more")
        with pytest.raises(WriterClosedError, match="open"):
            await writer.withdraw()
    assert client.values == expected(range(3))


@virtual
async def test_rows_come_back_from_a_writer_that_has_failed_as_no_broker_answers() -> None:
    client = FakeClient()
    client.answer = lambda batch: anyio.sleep_forever()
    async with writer_of(client, retry=RetryPolicy(timeout_s=5.0)) as writer:
        await writer.write_many(records(range(3)))
        with pytest.raises(DestinationUnavailableError):
            await writer.flush()
        assert values_of(await writer.withdraw()) == expected(range(3))


@virtual
async def test_a_failure_that_nobody_has_seen_needs_no_telling_once_the_rows_are_withdrawn() -> None:
    client = FakeClient()
    client.answer = lambda batch: anyio.sleep_forever()
    async with writer_of(client, retry=RetryPolicy(timeout_s=5.0)) as writer:
        await writer.write_many(records(range(3)))
        await anyio.sleep(60)
        assert values_of(await writer.withdraw()) == expected(range(3))


@virtual
async def test_a_writer_that_has_failed_for_what_a_row_holds_says_so() -> None:
    client = FakeClient()
    client.answer = refuse("INVALID_RECORD", lambda record: True)
    with pytest.raises(RequestRejectedError):  # noqa: PT012
        async with writer_of(client) as writer:
            await writer.write_many(records(range(3)))
            await anyio.sleep(1)
            await writer.withdraw()
    with pytest.raises(WriterFailedError):
        await writer.flush()


@virtual
async def test_dead_letters_that_are_being_written_are_no_rows_to_withdraw() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    stuck = anyio.Event()
    client.answer = lambda batch: stuck.wait() if batch[0].partition == 1 else None
    async with writer_of(client, max_record_size_in_bytes=500, **lettered(store)) as writer:
        await writer.write_many([KafkaRecord(value=b"x" * 501), *records([1], partition=1)])
        withdrawn = await writer.withdraw()
        assert withdrawn is not None
        assert withdrawn.sequence.tolist() == [1]
        told = writer.statistics()
    assert len(store.letters) == 1
    assert (told.accepted, told.dead_lettered, told.unacknowledged) == (1, 1, 0)


@virtual
async def test_a_call_that_waits_for_room_ends_and_its_other_rows_stay_with_the_caller() -> None:
    client = FakeClient()
    client.answer = lambda batch: anyio.sleep_forever()
    ended = []
    async with (
        writer_of(client, max_batch_size=5, max_buffered_requests=10) as writer,
        anyio.create_task_group() as group,
    ):

        async def write() -> None:
            with pytest.raises(WriterClosedError):
                await writer.write_records(columns(range(25)))
            ended.append(True)

        group.start_soon(write)
        await anyio.sleep(1)
        taken = writer.statistics().accepted
        assert taken < 25
        assert values_of(await writer.withdraw()) == expected(range(taken))
    assert ended == [True]


@virtual
async def test_a_writer_whose_bounds_are_widened_takes_more_rows() -> None:
    client, release = FakeClient(), anyio.Event()
    client.answer = lambda batch: release.wait()
    async with (
        writer_of(client, max_batch_size=5, max_buffered_requests=10) as writer,
        anyio.create_task_group() as group,
    ):
        group.start_soon(writer.write_records, columns(range(500)))
        await anyio.sleep(1)
        assert writer.statistics().accepted < 500
        writer.bound(max_buffered_requests=1000, max_buffered_size_in_bytes=10_000_000)
        await anyio.sleep(1)
        assert writer.statistics().accepted == 500
        release.set()
    assert client.values == expected(range(500))


@virtual
async def test_rows_of_a_transaction_stay_where_they_are() -> None:
    client = FakeClient()
    sink = FakeSink(client, QUICK, topic=TOPIC, delivery_guarantee="exactly-once")
    context = WriterInitContext(transaction=Transaction("0123456789abcdef", 1))
    async with sink.create_writer(context) as writer:
        await writer.write(b"x")
        with pytest.raises(WriterClosedError, match="transaction"):
            await writer.withdraw()
    assert client.values == [b"x"]


def test_rows_come_back_from_a_cluster_that_is_gone() -> None:
    async def use(first: MockCluster, second: MockCluster) -> None:
        async with KafkaSink(bootstrap_servers=first.bootstrap, topic=TOPIC, compression="gzip").open() as writer:
            await writer.write_batch(pa.RecordBatch.from_pydict({"value": expected(range(100)), "key": ["k"] * 100}))
            await writer.flush()
            first.stop_broker(1)
            await writer.write_batch(pa.RecordBatch.from_pydict({"value": expected(range(100, 5000))}))
            while not writer.statistics().in_flight_entries:
                await anyio.lowlevel.checkpoint()
            withdrawn = await writer.withdraw()
        assert withdrawn is not None
        async with KafkaSink(bootstrap_servers=second.bootstrap, topic=TOPIC).open() as writer:
            await writer.write_records(withdrawn)
        assert writer.statistics().acknowledged == 4900
        assert values_of(withdrawn) == expected(range(100, 5000))

    with MockCluster(topics={TOPIC: 2}) as first, MockCluster(topics={TOPIC: 3}) as second:
        anyio.run(use, first, second)
