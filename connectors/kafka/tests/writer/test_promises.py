"""What holds at every moment: also when a writer is closed, cancelled or stuck in a part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import ConfigurationError, ElementConverter, MiB, RequestError, RetryPolicy, WriteContext
from asyncsink.context import WriterInitContext
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.errors import RequestRejectedError
from asyncsink_kafka import KafkaRecord
from asyncsink_kafka.encoding import ReadyBatch
from asyncsink_testing.virtual_time import virtual

from .harness import QUICK, TOPIC, FakeClient, FakeSink, expected, lettered, records, refuse, writer_of


class Noting(FakeClient):
    """Notes each batch at the call, as aiokafka takes it: before anything is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[list[bytes | None]] = []

    async def send(self, topic: str, partition: int, batch: ReadyBatch) -> None:
        decoded = batch.records(topic, partition)
        self.taken.append([decoded.record(at).value for at in range(batch.count)])
        await super().send(topic, partition, batch)


@virtual
async def test_a_topic_that_was_refused_once_is_refused_again() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    client.topics["secrets"] = 1
    async with writer_of(client, topic=None, topics="orders", **lettered(store)) as writer:
        for number in range(3):
            await writer.write(KafkaRecord(value=b"%d" % number, topic="secrets"))
    assert client.stored == {}
    assert [each.code for each in store.letters] == ["TOPIC_NOT_ALLOWED"] * 3


@virtual
async def test_nothing_is_sent_once_the_writer_is_closed() -> None:
    client = Noting()
    with pytest.warns(ResourceWarning, match="3 unacknowledged"):  # noqa: PT031
        async with writer_of(client) as writer:
            await writer.write_many(records(range(3)))
            await writer.aclose()
            await anyio.sleep(1)
    assert client.taken == []


@virtual
async def test_no_later_batch_of_a_partition_is_sent_after_one_that_failed_the_writer() -> None:
    client = Noting()
    client.answer = refuse("INVALID_RECORD", lambda record: record.value == b"000001")
    with pytest.raises(RequestRejectedError):  # noqa: PT012
        async with writer_of(client, max_batch_size=1) as writer:
            await writer.write_many(records(range(4), partition=0))
            await anyio.sleep(1)
    assert client.taken == [[b"000000"], [b"000001"]]


@virtual
async def test_the_counted_bytes_return_to_zero_whatever_columns_the_rows_have() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        for _ in range(3):
            for each in records(range(1000)):
                await writer.write(each)
            await writer.write(KafkaRecord(value=b"x", key=b"k", timestamp=1, headers=(("a", b"b"),)))
            await writer.flush()
            assert writer.statistics().size_in_bytes == 0


@virtual
async def test_rows_of_very_different_sizes_stay_within_the_bound() -> None:
    client, release = FakeClient(), anyio.Event()
    client.answer = lambda batch: release.wait()
    values = [b"x" * MiB] * 24 + [b"y"] * 60_000
    peaks = []
    async with (
        writer_of(client, max_buffered_size_in_bytes=8 * MiB, max_record_size_in_bytes=MiB + 100,
                  max_batch_size_in_bytes=2 * MiB) as writer,
        anyio.create_task_group() as group,
    ):  # fmt: skip
        group.start_soon(writer.write_batch, pa.RecordBatch.from_pydict({"value": values}))
        for _ in range(10):
            await anyio.sleep(0.1)
            peaks.append(writer.statistics().size_in_bytes)
        release.set()
    assert max(peaks) <= 8.5 * MiB
    assert writer.statistics().acknowledged == len(values)


@virtual
async def test_a_partition_that_is_stuck_does_not_hold_up_the_others() -> None:
    client, release = FakeClient(), anyio.Event()
    client.answer = lambda batch: release.wait() if batch[0].partition == 0 else None
    async with writer_of(client) as writer:
        for _ in range(2):
            await writer.write(KafkaRecord(value=b"stuck", partition=0))
            await anyio.sleep(0.1)
        await anyio.sleep(2)
        await writer.write(KafkaRecord(value=b"free", partition=1))
        await anyio.sleep(0.5)
        assert [each.value for each in client.stored["orders", 1]] == [b"free"]
        release.set()


@virtual
async def test_many_topics_that_do_not_exist_cost_the_time_of_one() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    began_s = anyio.current_time()
    rows = [*(KafkaRecord(value=b"x", topic=f"nowhere-{at}") for at in range(40)), *records(range(100), topic=TOPIC)]
    async with writer_of(client, topic=None, **lettered(store)) as writer:
        await writer.write_many(rows)
    assert anyio.current_time() - began_s < 3, "one of them takes a second"
    assert client.values == expected(range(100))
    assert len(store.letters) == 40


def test_the_limits_that_a_writer_is_opened_with_are_its_own() -> None:
    client = FakeClient()
    sink = FakeSink(client, QUICK, topic=TOPIC)
    small = replace(QUICK, max_batch_size_in_bytes=20_000, max_record_size_in_bytes=20_000)

    async def use() -> None:
        async with sink.open(small) as writer:
            await writer.write_many([KafkaRecord(value=b"x" * 1000, partition=0) for _ in range(100)])

    anyio.run(use)
    assert max(client.batches) <= 20
    with pytest.raises(ConfigurationError, match="failOnTimeout"):
        sink.open(replace(QUICK, fail_on_timeout=True))


@virtual
async def test_a_cancelled_write_has_accepted_nothing() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        for element in (KafkaRecord(value=b"x", headers=(("a", b"b"),)), KafkaRecord(value=b"x", partition=1)):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await writer.write(element)
            assert scope.cancelled_caught
        assert writer.statistics().accepted == 0


@virtual
async def test_a_converter_is_told_the_place_of_each_element() -> None:
    class Numbering(ElementConverter[Any, KafkaRecord]):
        def apply(self, element: Any, context: WriteContext) -> KafkaRecord:
            return KafkaRecord(value=b"%06d" % context.sequence)

    client = FakeClient()
    sink = FakeSink(client, QUICK, topic=TOPIC).with_converter(Numbering())
    async with sink.create_writer(WriterInitContext()) as writer:
        await writer.write("a")
        await writer.write_many(["b", "c"])
        await writer.write("d")
    assert client.values == expected(range(4))


@virtual
async def test_a_loop_that_only_writes_lets_the_rows_go() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        for _ in range(12_000):
            await writer.write(b"x" * 1000)
        assert writer.statistics().in_flight_entries > 0


@virtual
async def test_a_topic_that_is_deleted_while_rows_wait_costs_its_deadline_once() -> None:
    client, store = FakeClient(), DeadLetterMemory()
    client.topics["gone"] = 1

    async def not_found() -> None:
        await anyio.sleep(60)
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION", "there is no topic 'gone'")

    client.answer = lambda batch: not_found() if batch[0].topic == "gone" else None
    began_s = anyio.current_time()
    retry = RetryPolicy(timeout_s=120.0)
    async with writer_of(client, topic=None, max_batch_size=100, retry=retry, stall_timeout_s=None,
                         **lettered(store)) as writer:  # fmt: skip
        await writer.write_many([*records(range(500), topic="gone"), *records(range(10), topic=TOPIC)])
    assert anyio.current_time() - began_s < 70
    assert len(store.letters) == 500
    assert client.values == expected(range(10))
    counts = writer.statistics()
    assert (counts.dead_lettered, counts.acknowledged, counts.size_in_bytes) == (500, 10, 0)
