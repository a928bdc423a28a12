"""What is written arrives, in order within its partition, and the counts say so."""

from __future__ import annotations

import pyarrow as pa
import pytest

from asyncsink import ListBlock, WriteContext, WriterClosedError, WriterFailedError
from asyncsink.errors import ConversionError, OversizedEntryError
from asyncsink_kafka import KafkaRecord
from asyncsink_testing.virtual_time import virtual

from .harness import FakeClient, expected, records, writer_of


@virtual
async def test_records_written_one_by_one_arrive_when_the_writer_is_left() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        for each in records(range(500)):
            await writer.write(each)
    assert client.values == expected(range(500))
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.unacknowledged, told.size_in_bytes) == (500, 500, 0, 0)


@virtual
async def test_every_way_of_writing_ends_in_the_same_records() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        await writer.write({"value": "000000", "key": b"a"})
        await writer.write_many([b"000001", "000002"])
        await writer.write_block(ListBlock(records([3]), [10]))
        await writer.write_batch(pa.RecordBatch.from_pydict({"value": ["000004", "000005"], "key": ["a", None]}))
    assert client.values == expected(range(6))
    assert writer.statistics().acknowledged == 6


@virtual
async def test_a_partition_keeps_the_order_in_which_its_records_were_written() -> None:
    client = FakeClient()
    async with writer_of(client, max_batch_size=7) as writer:
        for start in range(0, 400, 40):
            await writer.write_many(records(range(start, start + 20)))
            for each in records(range(start + 20, start + 40)):
                await writer.write(each)
    for stored in client.stored.values():
        values = [each.value for each in stored]
        assert values == sorted(values, key=lambda each: each or b"")
    assert max(client.batches) <= 7


@virtual
async def test_a_record_without_a_timestamp_gets_one_and_others_keep_theirs() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        await writer.write(KafkaRecord(value=b"old", timestamp=12_345))
        await writer.write(KafkaRecord(value=b"new"))
    times = {each.value: each.timestamp for stored in client.stored.values() for each in stored}
    assert times[b"old"] == 12_345
    assert (times[b"new"] or 0) > 1_700_000_000_000


@virtual
async def test_headers_topic_and_partition_of_a_record_are_kept() -> None:
    client = FakeClient()
    client.topics["other"] = 5
    async with writer_of(client, topic=None) as writer:
        await writer.write(KafkaRecord(value=b"x", topic="other", partition=4, headers=(("h", b"1"), ("h", None))))
    (stored,) = client.stored["other", 4]
    assert stored.headers == (("h", b"1"), ("h", None))


@virtual
async def test_a_flush_returns_when_all_that_was_written_is_stored() -> None:
    client = FakeClient()
    async with writer_of(client, max_time_in_buffer_s=100.0) as writer:
        await writer.write_many(records(range(10)))
        assert client.values == []
        await writer.flush()
        assert client.values == expected(range(10))
        await writer.write(records([10])[0])
        await writer.flush(end_of_input=True)
        assert client.values == expected(range(11))


@virtual
async def test_an_incomplete_batch_goes_when_it_has_lingered() -> None:
    import anyio

    client = FakeClient()
    async with writer_of(client, max_time_in_buffer_s=2.0) as writer:
        await writer.write(records([1])[0])
        await anyio.sleep(1.9)
        assert client.values == []
        await anyio.sleep(0.2)
        assert client.values == expected([1])


@virtual
async def test_an_oversized_record_raises_and_is_not_accepted() -> None:
    client = FakeClient()
    async with writer_of(client, max_record_size_in_bytes=500) as writer:
        await writer.write(b"good")
        with pytest.raises(OversizedEntryError, match="500"):
            await writer.write(b"x" * 501)
        await writer.write(b"good")
        assert writer.statistics().accepted == 2
    assert client.values == [b"good", b"good"]


@virtual
async def test_where_a_row_cannot_be_converted_those_before_it_are_accepted_and_none_after_it() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        with pytest.raises(ConversionError, match="element 2"):
            await writer.write_many([b"a", b"b", object(), b"d"], WriteContext())
        assert writer.statistics().accepted == 2
    assert client.values == [b"a", b"b"]


@virtual
async def test_a_closed_writer_says_so_and_gives_the_client_up() -> None:
    client = FakeClient()
    writer = writer_of(client, max_time_in_buffer_s=100.0)
    with pytest.warns(ResourceWarning, match="1 unacknowledged"):  # noqa: PT031
        async with writer:
            await writer.write(b"left")
            await writer.aclose()
    with pytest.raises(WriterClosedError):
        await writer.write(b"more")
    assert client.aborted
    assert writer.statistics().unacknowledged == 1


@virtual
async def test_a_failed_writer_raises_its_error_once_and_then_that_it_has_failed() -> None:
    client = FakeClient()
    client.answer = lambda batch: 1 / 0
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with writer_of(client) as writer:
            await writer.write(b"a")
            with pytest.raises(ZeroDivisionError):
                await writer.flush()
            with pytest.raises(WriterFailedError):
                await writer.write(b"b")
            raise ZeroDivisionError("as it was")


def test_a_writer_that_was_not_entered_takes_nothing() -> None:
    import anyio

    with pytest.raises(WriterClosedError, match="entered"):
        anyio.run(writer_of(FakeClient()).write, b"a")
