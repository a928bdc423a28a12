"""A throttled stream: four shards of 1 000 records and 1 MB a second each, of which one is hot."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import anyio
import pytest

from asyncsink import AsyncSinkWriterConfig, RateLimit
from asyncsink_kinesis.entry import KinesisEntry, size_in_bytes
from asyncsink_kinesis.shards.limits import BYTES_PER_S, RECORDS_PER_S, per_shard
from asyncsink_kinesis.shards.shard_map import ShardMap
from asyncsink_testing.virtual_time import virtual

from .sharded import LATENCY_S, ShardedSink, Stream

CONFIG = per_shard(AsyncSinkWriterConfig())
WARM_UP_S = 2.0
HOT = 0


async def sink_of(stream: Stream, *, by_shard: bool = True) -> ShardedSink:
    return ShardedSink(stream, await ShardMap.read(stream.list_open), by_shard=by_shard)


def rows(stream: Stream, shares: list[float], count: int, size: int) -> list[KinesisEntry]:
    """Records whose shards are drawn with these shares."""
    random = Random(7)
    shards = random.choices(range(len(shares)), shares, k=count)
    return [stream.entry(shard, number, size) for number, shard in enumerate(shards)]


def least_time_s(stream: Stream, written: list[KinesisEntry]) -> float:
    """How long the shards need for these records, the second's worth that they take at once apart."""
    records: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in written:
        shard = stream.model.shard_of(int(entry.explicit_hash_key or 0)).id
        records[shard] += 1
        size[shard] += size_in_bytes(entry)
    return max(max(records.values()) / RECORDS_PER_S, max(size.values()) / BYTES_PER_S) - 1.0


@pytest.mark.parametrize("size", [100, 5_000], ids=["small records", "records of 5 kB"])
def test_a_hot_shard_is_used_up_and_nothing_is_throttled_or_missing(size: int) -> None:
    @virtual
    async def run() -> None:
        stream = Stream(4)
        written = rows(stream, [0.4, 0.2, 0.2, 0.2], 50_000 if size == 100 else 10_000, size)
        started_s = anyio.current_time()
        async with (await sink_of(stream)).open(CONFIG) as writer:
            await writer.write_many(written)
        took_s = anyio.current_time() - started_s

        assert Counter(stream.stored) == Counter(written)
        assert least_time_s(stream, written) / took_s >= 0.95
        late = [at_s for at_s in stream.throttled_s if at_s > started_s + WARM_UP_S]
        assert len(late) < 0.01 * len(written)

    run()


@virtual
async def test_records_for_other_shards_do_not_wait_for_the_hot_one() -> None:
    stream = Stream(4)
    hot = [stream.entry(HOT, number) for number in range(9_000)]
    cold = [stream.entry(1 + number % 3, 10_000 + number) for number in range(900)]
    config = replace(CONFIG, max_time_in_buffer_s=0.1)
    async with (await sink_of(stream)).open(config) as writer:
        await writer.write_many(hot)
        started_s = anyio.current_time()
        await writer.write_many(cold)
    waited_s = max(at_s for entry, at_s in zip(stream.stored, stream.stored_s, strict=True) if entry in set(cold))
    assert waited_s - started_s <= 0.1 + 3 * LATENCY_S
    assert stream.stored_s[-1] - started_s > 5.0


@virtual
async def test_without_limits_of_each_shard_the_hot_one_throttles() -> None:
    stream = Stream(4)
    config = replace(CONFIG, rate_limit=RateLimit.fixed(records=4 * RECORDS_PER_S))
    written = rows(stream, [0.4, 0.2, 0.2, 0.2], 20_000, 100)
    async with (await sink_of(stream, by_shard=False)).open(config) as writer:
        await writer.write_many(written)
    assert Counter(stream.stored) == Counter(written)
    assert len(stream.throttled_s) > 0.1 * len(written)


@virtual
async def test_writers_that_share_a_shard_share_what_it_takes() -> None:
    stream = Stream(1)
    sink = await sink_of(stream)
    config = replace(CONFIG, rate_limit=replace(CONFIG.rate_limit, writers=4))
    started_s = anyio.current_time()

    async def write(first: int) -> None:
        async with sink.open(config) as writer:
            await writer.write_many([stream.entry(0, first + number) for number in range(2_500)])

    async with anyio.create_task_group() as group:
        for first in range(0, 40_000, 10_000):
            group.start_soon(write, first)
    assert len(stream.stored) == 10_000
    assert anyio.current_time() - started_s <= 10_000 / RECORDS_PER_S / 0.95
    assert not stream.throttled_s


@virtual
async def test_after_a_split_both_halves_are_used_up_and_the_old_limits_are_forgotten() -> None:
    stream = Stream(2)
    sink = await sink_of(stream)
    before, after = ([KinesisEntry(b"x" * 100, f"{kind}-{n}") for n in range(8_000)] for kind in ("before", "after"))
    async with sink.open(CONFIG) as writer:
        await writer.write_many(before)
        for each in stream.model.open_shards:
            stream.model.split(each.id)
        await writer.flush(end_of_input=True)
        requests, split_s = len(stream.routes), anyio.current_time()
        await writer.write_many(after)

    new = {each.id for each in stream.model.open_shards}
    assert Counter(stream.stored) == Counter([*before, *after])
    assert set(stream.routes[:requests]).isdisjoint(new)
    assert set(stream.routes[requests:]) == new
    assert 8_000 / (anyio.current_time() - split_s) > 3 * RECORDS_PER_S
