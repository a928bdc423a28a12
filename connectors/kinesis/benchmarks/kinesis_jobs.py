"""A Spark job into a stream: through our sink, and by the calls that users write for want of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from time import perf_counter
from typing import Any

from kinesis_clients import AIOBOTOCORE, BOTO3, CREDENTIALS, IN_FLIGHT, OURS, REQUEST_ROWS
from kinesis_stub import REGION, STREAM
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from asyncsink_testing.bench_rows import Took
from asyncsink_testing.bench_spark import quiet_session
from asyncsink_testing.bench_stub import Stub
from asyncsink_testing.processor_time import keep_orphans, spent_s, tree

TASKS = 2
"""Spark's cores, and the tasks of each job."""
_ID_DIGITS = 20


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    keep_orphans()
    # Spark's workers do not have this folder on their path.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    with quiet_session(SparkSession.builder.master(f"local[{TASKS}]")) as session:
        yield session


def frame(spark: SparkSession, rows: int, size: int) -> DataFrame:
    data = f"concat(lpad(CAST(id AS STRING), {_ID_DIGITS}, '0'), '{'x' * (size - _ID_DIGITS)}') AS data"
    return spark.range(0, rows, 1, TASKS).selectExpr(data, "CAST(id AS STRING) AS partitionKey")


def through_our_sink(rows: DataFrame, url: str) -> None:
    options = {
        "stream": STREAM,
        "region": REGION,
        "endpoint": url,
        "credentialsProvider": "basic",
        "accessKeyId": CREDENTIALS["aws_access_key_id"],
        "secretAccessKey": CREDENTIALS["aws_secret_access_key"],
        "maxInFlightRequests": str(IN_FLIGHT),
    }
    rows.write.format("asyncsink.kinesis").mode("append").options(**options).save()


def through_boto3(rows: DataFrame, url: str) -> None:
    stream, region, credentials = STREAM, REGION, CREDENTIALS

    def send(part: Iterable[Any]) -> None:
        import boto3

        client = boto3.client("kinesis", region, endpoint_url=url, **credentials)
        for records in _requests(part):
            answer = client.put_records(StreamName=stream, Records=records)
            if answer["FailedRecordCount"]:
                raise RuntimeError(f"{answer['FailedRecordCount']} records were not stored")

    rows.foreachPartition(send)


def through_aiobotocore(rows: DataFrame, url: str) -> None:
    stream, region, credentials, in_flight = STREAM, REGION, CREDENTIALS, IN_FLIGHT

    async def send_all(part: Iterable[Any]) -> None:
        import anyio
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session

        config = AioConfig(max_pool_connections=in_flight)
        client = get_session().create_client("kinesis", region, endpoint_url=url, config=config, **credentials)
        requests = _requests(part)

        async def work(client: Any) -> None:
            for records in requests:
                answer = await client.put_records(StreamName=stream, Records=records)
                if answer["FailedRecordCount"]:
                    raise RuntimeError(f"{answer['FailedRecordCount']} records were not stored")

        async with client as opened, anyio.create_task_group() as workers:
            for _ in range(in_flight):
                workers.start_soon(work, opened)

    def send(part: Iterable[Any]) -> None:
        import anyio

        anyio.run(send_all, part)

    rows.foreachPartition(send)


def _requests(part: Iterable[Any]) -> Iterator[list[dict[str, Any]]]:
    rows = iter(part)
    while some := list(islice(rows, REQUEST_ROWS)):
        yield [{"Data": row.data, "PartitionKey": row.partitionKey} for row in some]


JOBS: Mapping[str, Callable[[DataFrame, str], None]] = {
    OURS: through_our_sink,
    BOTO3: through_boto3,
    AIOBOTOCORE: through_aiobotocore,
}


def job(stub: Stub, rows: DataFrame, count: int, name: str) -> Callable[[], Took]:
    """What sends the rows, and sees that as many have come.

    :raises RuntimeError: another number of rows came
    """
    here = os.getpid()

    def run() -> Took:
        stored, before, start_s = stub.rows(), tree(here, stub.pid), perf_counter()
        JOBS[name](rows, stub.url)
        took = Took(perf_counter() - start_s, spent_s(before, tree(here, stub.pid)))
        if (came := stub.rows() - stored) != count:
            raise RuntimeError(f"{came} rows came, and {count} were sent")
        return took

    return run
