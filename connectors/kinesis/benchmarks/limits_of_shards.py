"""What the strategies make of a stream whose keys are uneven, in virtual time: the table of the README.

Run ``python connectors/kinesis/benchmarks/limits_of_shards.py``; it takes half a minute, and prints the same each time.
Four shards, one of which gets twice as many records as each other, take 2 500 records a second. The writers always have
more to send, and know nothing of one another, as those of Spark's tasks.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import trio
import trio.testing

from asyncsink import RateLimit
from asyncsink.context import InitContext
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.client import KinesisClient
from asyncsink_kinesis.stream import StreamDescription
from asyncsink_testing.aws.shards import RECORDS_PER_S, ShardModel, hash_key_of

SHARES = (2, 1, 1, 1)
"""Of the records, by shards; the first is used up before the others are."""
STORED_PER_S = RECORDS_PER_S * sum(SHARES) / max(SHARES)
START_S, END_S = 10.0, 30.0
"""What is measured; before it the strategies learn."""
LATENCY_S = 0.02
"""On the way there, and as much on the way back."""
ROWS_AT_ONCE = 500
STRATEGIES = {
    "`paced`": RateLimit.paced(),
    "`aimd`, the kernel's default": RateLimit.aimd(),
    "as Flink's sink for Kinesis does, 1 % less after a failure": RateLimit.flink(factor=0.99),
}
WRITERS = (1, 4)


class Service:
    """``put_records`` of a client, by shards in memory; counts what it takes and what it refuses."""

    def __init__(self) -> None:
        self.model = ShardModel(len(SHARES), clock=anyio.current_time)
        self.begun_s = anyio.current_time()
        self.stored = self.throttled = self.throttled_at_start = 0

    async def put_records(self, **request: Any) -> dict[str, Any]:
        await anyio.sleep(LATENCY_S)
        told = [self._put(each) for each in request["Records"]]
        await anyio.sleep(LATENCY_S)
        return {"FailedRecordCount": sum("ErrorCode" in each for each in told), "Records": told}

    def _put(self, record: dict[str, Any]) -> dict[str, str]:
        hash_key = hash_key_of(record["PartitionKey"], record["ExplicitHashKey"])
        took = self.model.take(hash_key, len(record["Data"]) + len(record["PartitionKey"]))
        self._count(took, anyio.current_time() - self.begun_s)
        shard = {"ShardId": self.model.shard_of(hash_key).id}
        return shard if took else {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": ""}

    def _count(self, took: bool, at_s: float) -> None:
        if START_S <= at_s < END_S:
            self.stored += took
            self.throttled += not took
        elif at_s < START_S:
            self.throttled_at_start += not took

    def rows(self, seed: int) -> list[KinesisEntry]:
        """Records of 100 bytes in any order, as many of each shard as its share says."""
        each = ROWS_AT_ONCE // sum(SHARES)
        shards = random.Random(seed).sample(self.model.open_shards, ROWS_AT_ONCE, counts=[each * n for n in SHARES])
        return [KinesisEntry(bytes(100), f"key-{index}", str(each.first)) for index, each in enumerate(shards)]


class SinkInMemory(KinesisSink):
    """The sink itself, with a client of such a service."""

    service: Service

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[KinesisClient]:
        aws: Any = self.service
        yield KinesisClient(aws, StreamDescription())


@dataclass(frozen=True, slots=True)
class Measured:
    """Shares of what can be stored and of what was sent, and records that the first ten seconds have throttled."""

    stored: float
    throttled: float
    at_start: int

    def __str__(self) -> str:
        shares = f"{self.stored:.1%}, {self.throttled:.1%}".replace("%", " %")
        return f"{shares} | {format(self.at_start, ',').replace(',', ' ')}"


async def _write(sink: SinkInMemory, seed: int, limit: RateLimit) -> None:
    async with sink.open(replace(sink.config, rate_limit=limit)) as writer:
        rows = sink.service.rows(seed)
        while True:
            await writer.write_many(rows)


async def measure(limit: RateLimit, writers: int) -> Measured:
    """One strategy with so many writers of one stream."""
    sink = SinkInMemory(stream_name="rows", ready_bodies=False)
    service = sink.service = Service()
    with anyio.move_on_after(END_S):
        async with anyio.create_task_group() as group:
            for seed in range(writers):
                group.start_soon(_write, sink, seed, limit)
    sent = service.stored + service.throttled
    share = service.stored / (STORED_PER_S * (END_S - START_S))
    return Measured(share, service.throttled / sent, service.throttled_at_start)


def main() -> None:
    print("| `rateLimit` | 1 writer: stored, throttled | at the start | 4 writers: stored, throttled | at the start |")
    print("| --- | --- | --- | --- | --- |")
    for name, limit in STRATEGIES.items():
        found = []
        for writers in WRITERS:
            random.seed(1)  # of the kernel's jitter
            clock = trio.testing.MockClock(autojump_threshold=0)
            found.append(trio.run(measure, limit, writers, clock=clock))
        print(f"| {name} | {' | '.join(map(str, found))} |")


if __name__ == "__main__":
    main()
