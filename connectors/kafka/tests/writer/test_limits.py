"""Memory is bounded, the kernel's rate limit holds batches back, and brokers that throttle are left alone."""

from __future__ import annotations

from itertools import pairwise

import anyio
import pyarrow as pa

from asyncsink import MiB, RateLimit
from asyncsink.context import WriterInitContext
from asyncsink.metrics import Metrics
from asyncsink_kafka import KafkaRecord
from asyncsink_kafka.records import Records
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.pile import AT_ONCE, Pile
from asyncsink_testing.virtual_time import virtual

from .harness import QUICK, TOPIC, FakeClient, FakeSink, records, writer_of


@virtual
async def test_while_the_brokers_hang_no_more_is_held_than_the_buffer_allows() -> None:
    client, release = FakeClient(), anyio.Event()
    client.answer = lambda batch: release.wait()
    bound = 1 * MiB
    batch = pa.RecordBatch.from_pydict({"value": [b"x" * 1000] * 5000})
    peaks = []
    async with writer_of(client, max_buffered_size_in_bytes=bound) as writer, anyio.create_task_group() as group:
        group.start_soon(writer.write_batch, batch)
        for _ in range(20):
            await anyio.sleep(0.05)
            peaks.append(writer.statistics().size_in_bytes)
        assert writer.statistics().accepted < 5000
        release.set()
    assert max(peaks) <= bound * 1.05
    assert writer.statistics().acknowledged == 5000


@virtual
async def test_no_more_rows_wait_than_allowed() -> None:
    client, release = FakeClient(), anyio.Event()
    client.answer = lambda batch: release.wait()
    async with writer_of(client, max_batch_size=10, max_buffered_requests=50) as writer:
        async with anyio.create_task_group() as group:
            group.start_soon(writer.write_many, records(range(500)))
            await anyio.sleep(1)
            assert writer.statistics().buffered_entries <= 50
            release.set()
    assert writer.statistics().acknowledged == 500


@virtual
async def test_a_fixed_rate_is_kept() -> None:
    client = FakeClient()
    began_s = anyio.current_time()
    async with writer_of(client, rate_limit=RateLimit.fixed(records=100, per_s=1.0, burst=100)) as writer:
        await writer.write_many(records(range(1000)))
    took_s = anyio.current_time() - began_s
    assert 8.0 <= took_s <= 11.0
    assert max(client.batches) <= 100


@virtual
async def test_brokers_that_throttle_are_left_alone_for_so_long() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        await writer.write(b"a")
        await writer.flush()
        client.observer.started(1, 10)
        client.observer.ended(0.01, None, 3.0)
        began_s = anyio.current_time()
        await writer.write(b"b")
        await writer.flush()
        assert anyio.current_time() - began_s >= 3.0
    assert writer.statistics().throttled_entries == 1


@virtual
async def test_rows_gather_while_the_brokers_are_busy() -> None:
    client = FakeClient()
    client.answer = lambda batch: anyio.sleep(1.0)
    async with writer_of(client, partitioner="fixed") as writer:
        for start in range(0, 1000, 10):
            await writer.write_many(records(range(start, start + 10)))
            await anyio.sleep(0.02)
    assert len(client.batches) < 10, client.batches


@virtual
async def test_the_metrics_are_the_kernels() -> None:
    client, metrics = FakeClient(), Metrics()
    sink = FakeSink(client, QUICK, topic=TOPIC)
    async with sink.create_writer(WriterInitContext(metric_group=metrics.group)) as writer:
        await writer.write_many(records(range(50)))
        await writer.flush()
        told = metrics.snapshot()
    assert told["numRecordsIn"] == told["numRecordsAcknowledged"] == told["numRecordsSend"] == 50
    assert told["currentSendTime"] == 1.0


@virtual
async def test_a_portion_is_about_one_batch_for_each_partition_that_is_written_to() -> None:
    client = FakeClient()
    async with writer_of(client, batch_size_in_bytes=500_000) as writer:
        assert writer._delivery.pile.portion == AT_ONCE
        await writer.write_many(records(range(100)))
        await writer.flush()
        assert len(client.stored) == 3
        assert writer._delivery.pile.portion == 0.9 * 500_000 * 3


@virtual
async def test_rows_leave_the_pile_in_order_and_in_portions() -> None:
    books = Books(anyio.current_time)
    pile = Pile(books)
    pile.portion = 100_000
    for start in range(0, 3000, 1000):
        pile.add(Records.of([KafkaRecord(value=b"x" * 1000) for _ in range(1000)], start))
    taken = []
    while not pile.is_empty:
        taken.append(pile.take())
        books.size_in_bytes -= taken[-1].nbytes
    assert [number for each in taken for number in each.sequence.tolist()] == list(range(3000))
    assert max(each.nbytes for each in taken) <= 101_000
    assert (pile.size_in_bytes, books.size_in_bytes) == (0, 0)


def portions(rows: int, runs: int, takes: int, portion: float) -> list[int]:
    """How many rows leave with each portion, of so many runs of so many rows, where a portion is so many runs."""
    pile = Pile(Books(anyio.current_time))
    run = Records.of([KafkaRecord(value=b"x" * 1000) for _ in range(rows)])
    pile.portion = int(run.nbytes * portion)
    for _ in range(runs):
        pile.add(run)
    return [len(pile.take()) for _ in range(takes)]


@virtual
async def test_a_portion_that_is_nearly_full_is_not_filled_up_with_a_part_of_the_next_run() -> None:
    assert portions(rows=900, runs=3, takes=3, portion=10 / 9) == [900] * 3


@virtual
async def test_a_portion_with_much_room_is_filled_up() -> None:
    assert set(portions(rows=800, runs=5, takes=3, portion=10 / 8)) <= {999, 1000}


@virtual
async def test_small_runs_leave_together_as_far_as_they_fit() -> None:
    assert portions(rows=100, runs=6, takes=3, portion=9 / 4) == [200, 200, 200]


@virtual
async def test_a_full_buffer_takes_no_crumbs() -> None:
    client = FakeClient()
    client.answer = lambda batch: anyio.sleep(0.01)
    rows = pa.RecordBatch.from_pydict({"value": [b"x" * 1000] * 4000})
    accepted = set()
    async with writer_of(client, max_buffered_size_in_bytes=MiB, batch_size_in_bytes=20_000) as writer:
        async with anyio.create_task_group() as group:
            group.start_soon(writer.write_batch, rows)
            while writer.statistics().acknowledged < 4000:
                accepted.add(writer.statistics().accepted)
                await anyio.sleep(0.001)
    # A quarter of the buffer at a time.
    assert min(later - earlier for earlier, later in pairwise(sorted(accepted)[:-1])) >= MiB // 4 // 1100
