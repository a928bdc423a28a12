"""What brokers refuse is split, given up or fatal; what they cannot take now is sent again, up to a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import DestinationUnavailableError, RateLimit, RequestError, StalledError
from asyncsink.dead_letters import DeadLetterMemory, entries_of
from asyncsink.errors import FatalRequestError, RejectedEntryError, RequestRejectedError, TooManyRejectedError
from asyncsink_kafka import KafkaRecord
from asyncsink_testing.virtual_time import virtual

from .harness import FakeClient, expected, lettered, records, refuse, writer_of


def is_bad(record: KafkaRecord) -> bool:
    return record.value in (b"000017", b"000044")


@virtual
async def test_a_refused_batch_is_halved_until_the_record_at_fault_is_alone() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    client.answer = refuse("INVALID_RECORD", is_bad)
    async with writer_of(client, **lettered(store)) as writer:
        await writer.write_many(records(range(100)))
    assert client.values == expected(each for each in range(100) if each not in (17, 44))
    told = {(each.code, each.idempotency_id) for each in store.letters}
    assert told == {("INVALID_RECORD", "q/7/3/17"), ("INVALID_RECORD", "q/7/3/44")}
    counts = writer.statistics()
    assert (counts.acknowledged, counts.dead_lettered, counts.unacknowledged, counts.size_in_bytes) == (98, 2, 0, 0)


@virtual
async def test_a_dead_letter_holds_the_record_as_it_was_with_its_topic_and_partition() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    client.answer = refuse("INVALID_TIMESTAMP", lambda record: record.timestamp == 5)
    writer = writer_of(client, **lettered(store))
    async with writer:
        await writer.write(KafkaRecord(value=None, key=b"k", headers=(("a", None),), timestamp=5))
        await writer.write(b"good")
    (entry,) = entries_of(store.letters, writer._sink)
    assert (entry.key, entry.value, entry.headers) == (b"k", None, (("a", None),))
    assert (entry.timestamp, entry.topic, entry.partition in range(3)) == (5, "orders", True)


@virtual
async def test_order_is_kept_where_records_in_between_are_given_up() -> None:
    client = FakeClient()
    client.answer = refuse("INVALID_RECORD", is_bad)
    async with writer_of(client, on_rejected="drop", max_rejected=1.0, max_batch_size=30) as writer:
        await writer.write_many(records(range(200)))
    for stored in client.stored.values():
        values = [each.value or b"" for each in stored]
        assert values == sorted(values)
    assert writer.statistics().dropped == 2


@virtual
async def test_a_batch_that_is_too_large_for_a_broker_is_split_and_later_ones_are_smaller() -> None:
    client = FakeClient()

    def answer(batch: Sequence[KafkaRecord]) -> None:
        if sum(len(each.value or b"") for each in batch) > 40_000:
            raise RequestError("MESSAGE_TOO_LARGE", "the batch is too large")

    client.answer = answer
    rows = [KafkaRecord(value=b"%06d" % at + b"x" * 1000, partition=0) for at in range(300)]
    async with writer_of(client) as writer:
        await writer.write_many(rows)
        await writer.flush()
        refused = len(client.batches)
        await writer.write_many(rows)
    assert sum(client.batches) == 600
    assert max(client.batches[refused:]) <= 40


@virtual
async def test_a_record_that_is_refused_fails_the_writer_by_default_and_stays_unacknowledged() -> None:
    client = FakeClient()
    client.answer = refuse("INVALID_RECORD", is_bad)
    writer = writer_of(client)
    with pytest.raises(RequestRejectedError, match=r"INVALID_RECORD.*orders.*partition"):
        async with writer:
            await writer.write_many(records(range(20)))
    assert writer.statistics().unacknowledged >= 1
    assert client.aborted


@virtual
async def test_what_no_retry_can_mend_fails_with_the_remedy() -> None:
    client = FakeClient()
    client.answer = refuse("TOPIC_AUTHORIZATION_FAILED", lambda record: True)
    with pytest.raises(FatalRequestError, match=r"TOPIC_AUTHORIZATION_FAILED.*\. Allow the user Write"):
        async with writer_of(client) as writer:
            await writer.write(b"a")


@virtual
async def test_rows_for_a_topic_that_does_not_exist_are_given_up_and_others_go_on() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    async with writer_of(client, topic=None, **lettered(store)) as writer:
        for _ in range(3):
            await writer.write_many([*records([1], topic="orders"), *records([2], topic="nowhere")])
            await writer.flush()
    assert client.values == expected([1, 1, 1])
    assert [each.code for each in store.letters] == ["UNKNOWN_TOPIC_OR_PARTITION"] * 3
    assert client.asked.count("nowhere") == 1, "it is not looked for again at once"


@virtual
async def test_a_topic_outside_of_the_allow_list_is_refused_before_it_is_accepted() -> None:
    client = FakeClient()
    async with writer_of(client, topic=None, topics="orders") as writer:
        with pytest.raises(RejectedEntryError, match="secrets"):
            await writer.write(KafkaRecord(value=b"a", topic="secrets"))
        assert writer.statistics().accepted == 0


@virtual
async def test_too_many_rejected_rows_fail_the_flush() -> None:
    client = FakeClient()
    client.answer = refuse("INVALID_RECORD", lambda record: (record.value or b"") < b"000030")
    with pytest.raises(TooManyRejectedError, match="30 of 200"):
        async with writer_of(client, on_rejected="drop") as writer:
            await writer.write_many(records(range(200)))


@virtual
async def test_what_can_be_repeated_is_and_counts_as_retried() -> None:
    client, failures = FakeClient(), [OSError("broken"), RequestError("REQUEST_TIMED_OUT"), TimeoutError()]

    def answer(batch: Sequence[KafkaRecord]) -> None:
        if failures:
            raise failures.pop()

    client.answer = answer
    async with writer_of(client) as writer:
        await writer.write(b"a")
    assert client.values == [b"a"]
    assert writer.statistics().retried_entries == 3


@virtual
async def test_a_partition_that_takes_nothing_fails_after_its_deadline_and_says_what_came_last() -> None:
    client = FakeClient()
    client.last_error = "broker-2: NOT_LEADER_OR_FOLLOWER"
    client.answer = lambda batch: anyio.sleep_forever()
    began_s = anyio.current_time()
    with pytest.raises(DestinationUnavailableError, match=r"'orders', partition \d.*delivery.timeout.ms.*NOT_LEADER"):
        async with writer_of(client) as writer:
            await writer.write(b"a")
    assert 10.0 <= anyio.current_time() - began_s < 12.0
    assert client.aborted


@virtual
async def test_a_writer_that_gets_nowhere_fails_with_its_counters() -> None:
    client = FakeClient()
    limit = RateLimit.custom("asyncsink:NoRateLimitingStrategy")
    with pytest.raises(StalledError, match="accepted=1"):  # noqa: PT012
        async with writer_of(client, stall_timeout_s=40.0, max_time_in_buffer_s=1e6, rate_limit=limit) as writer:
            await writer.write(b"a")
            await anyio.sleep(100)
            await writer.flush()


@virtual
async def test_waiting_writes_end_when_the_writer_fails() -> None:
    client = FakeClient()
    client.answer = lambda batch: anyio.sleep_forever()
    raised: list[Any] = []
    with pytest.raises(DestinationUnavailableError):  # noqa: PT012
        async with writer_of(client, max_buffered_size_in_bytes=2**20) as writer:
            try:
                for _ in range(10_000):
                    await writer.write(b"x" * 1000)
            except DestinationUnavailableError as error:
                raised.append(error)
                raise
    assert raised


@virtual
async def test_a_header_without_a_key_concerns_its_record_alone() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    headers = [[{"key": "a", "value": b"1"}], [{"key": None, "value": b"2"}], None]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    batch = pa.RecordBatch.from_pydict({"value": ["0", "1", "2"], "headers": pa.array(headers, kind)})
    async with writer_of(client, **lettered(store)) as writer:
        await writer.write_batch(batch)
    assert client.values == [b"0", b"2"]
    assert [(each.code, each.idempotency_id) for each in store.letters] == [("INVALID_RECORD", "q/7/3/1")]
