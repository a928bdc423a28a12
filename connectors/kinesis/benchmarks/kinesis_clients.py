"""Rows into a stream without Spark: our writer, fed with Arrow batches, and the clients that Python programs call."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import anyio
import pyarrow as pa
from kinesis_stub import REGION, STREAM

from asyncsink import Column, Schema
from asyncsink.context import WriterInitContext
from asyncsink_kinesis import KinesisSink
from asyncsink_testing.bench_rows import Took, timed
from asyncsink_testing.bench_stub import Stub

BATCH_ROWS = 10_000
"""As Spark hands them over."""
REQUEST_ROWS = 500
"""The most that PutRecords takes."""
IN_FLIGHT = 8
"""Requests at once, of all that send several."""
CREDENTIALS = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "bench"}
_DISTINCT_KEYS = 5000
_SCHEMA = Schema((Column("data", "binary"), Column("partitionKey", "string")))
"""As Spark's, by which our sink knows the payload's column."""
_WORDS = b"the quick brown fox jumps over the lazy dog and runs away from 3.14159 wolves at 2024-01-01".split()


@cache
def material(size: int) -> pa.RecordBatch:
    """One batch of rows, sent again and again: values of so many bytes that look like text, with keys that repeat."""
    chosen = random.Random(7)
    keys = [f"user-{chosen.randrange(_DISTINCT_KEYS):06}" for _ in range(BATCH_ROWS)]
    values = [b" ".join(chosen.choices(_WORDS, k=size // 4))[:size].ljust(size, b"x") for _ in range(BATCH_ROWS)]
    columns = {"data": pa.array(values, pa.binary()), "partitionKey": pa.array(keys, pa.string())}
    return pa.RecordBatch.from_pydict(columns)


def requests(batch: pa.RecordBatch) -> Iterator[list[dict[str, Any]]]:
    """The records of each request, made of the batch as botocore wants them."""
    for start in range(0, len(batch), REQUEST_ROWS):
        data, keys = (column.to_pylist() for column in batch.slice(start, REQUEST_ROWS).columns)
        yield [{"Data": value, "PartitionKey": key} for value, key in zip(data, keys, strict=True)]


Send = Callable[[str, pa.RecordBatch, int], Took]
"""Sends the batch once to warm up, and then so often, to the stream at this address."""


def sends(stub: Stub, send: Send, size: int, batches: int) -> Callable[[], Took]:
    """What sends so many batches, and sees that as many rows have come.

    :raises RuntimeError: another number of rows came
    """

    def run() -> Took:
        before = stub.rows()
        took = send(stub.url, material(size), batches)
        came, expected = stub.rows() - before, (batches + 1) * BATCH_ROWS
        if came != expected:
            raise RuntimeError(f"{came} rows came, and {expected} were sent")
        return took

    return run


def our_writer(url: str, sent: pa.RecordBatch, batches: int) -> Took:
    sink = KinesisSink(
        stream_name=STREAM,
        region=REGION,
        endpoint=url,
        credentials_provider="basic",
        access_key_id=CREDENTIALS["aws_access_key_id"],
        secret_access_key=CREDENTIALS["aws_secret_access_key"],
        config=replace(KinesisSink.defaults, max_in_flight_requests=IN_FLIGHT),
    )

    async def main() -> Took:
        async with sink.create_writer(WriterInitContext(schema=_SCHEMA)) as writer:

            async def feed(count: int) -> None:
                for _ in range(count):
                    await writer.write_batch(sent)
                await writer.flush(end_of_input=True)

            return await timed(feed, batches)

    return anyio.run(main)


def boto3_loop(url: str, sent: pa.RecordBatch, batches: int) -> Took:
    """One request after the other, as in a function for foreachBatch or foreachPartition."""
    import boto3

    client = boto3.client("kinesis", REGION, endpoint_url=url, **CREDENTIALS)

    async def feed(count: int) -> None:
        for _ in range(count):
            for records in requests(sent):
                seen(client.put_records(StreamName=STREAM, Records=records))

    try:
        return anyio.run(timed, feed, batches)
    finally:
        client.close()


def aiobotocore_calls(url: str, sent: pa.RecordBatch, batches: int) -> Took:
    """As many requests in flight as ours has, each a call of put_records."""

    async def main() -> Took:
        async with aiobotocore_client(url) as client:

            async def feed(count: int) -> None:
                remaining = (records for _ in range(count) for records in requests(sent))

                async def work() -> None:
                    for records in remaining:
                        seen(await client.put_records(StreamName=STREAM, Records=records))

                async with anyio.create_task_group() as workers:
                    for _ in range(IN_FLIGHT):
                        workers.start_soon(work)

            return await timed(feed, batches)

    return anyio.run(main)


@asynccontextmanager
async def aiobotocore_client(url: str) -> Any:
    from aiobotocore.config import AioConfig
    from aiobotocore.session import get_session

    config = AioConfig(max_pool_connections=IN_FLIGHT)
    async with get_session().create_client("kinesis", REGION, endpoint_url=url, config=config, **CREDENTIALS) as client:
        yield client


def seen(answer: Mapping[str, Any]) -> None:
    """What a program has to look at, and many do not.

    :raises RuntimeError: a record was not stored
    """
    if answer["FailedRecordCount"]:
        raise RuntimeError(f"{answer['FailedRecordCount']} records were not stored, and the stub stores all")


OURS, BOTO3, AIOBOTOCORE = "asyncsink.kinesis", "boto3 put_records in a loop", "aiobotocore put_records"
SENDERS: Mapping[str, Send] = {OURS: our_writer, BOTO3: boto3_loop, AIOBOTOCORE: aiobotocore_calls}
