"""A Spark job into an HTTP API: through our sink, and by the loops that users write for want of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from time import perf_counter
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from asyncsink_testing.bench_rows import Took
from asyncsink_testing.bench_spark import quiet_session
from asyncsink_testing.bench_stub import Stub
from asyncsink_testing.processor_time import keep_orphans, spent_s, tree

TASKS = 2
"""Spark's cores, and the tasks of each job."""
IN_FLIGHT = 50
"""Requests at once of each task, of all that send several."""
_COLUMNS = (
    "id",
    "concat('UA', CAST(id % 100 AS STRING)) AS carrier",
    "element_at(array('EWR', 'JFK', 'LGA'), CAST(id % 3 AS INT) + 1) AS origin",
    "CAST(id % 1000 AS DOUBLE) / 4 AS amount",
    "concat('2026-01-01T00:00:', lpad(CAST(id % 60 AS STRING), 2, '0'), '.000Z') AS at",
    "concat('passenger ', lpad(CAST(id AS STRING), 10, '0')) AS name",
    "'the quick brown fox jumps over the lazy dog, and away' AS text",
    "id % 2 = 0 AS ok",
)
"""About 200 bytes as JSON. The time is a string: Python's own encoder takes no other."""


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    keep_orphans()
    # Spark's workers do not have this folder on their path.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    with quiet_session(SparkSession.builder.master(f"local[{TASKS}]")) as session:
        yield session


def frame(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(0, rows, 1, TASKS).selectExpr(*_COLUMNS)


def through_our_sink(rows: DataFrame, url: str, request_rows: int, transport: str = "httpx") -> None:
    options = {
        "url": url,
        "maxBatchSize": str(request_rows),
        "maxInFlightRequests": str(IN_FLIGHT),
        "transport": transport,
    }
    rows.write.format("asyncsink.http").mode("append").options(**options).save()


def through_our_sink_by_aiohttp(rows: DataFrame, url: str, request_rows: int) -> None:
    through_our_sink(rows, url, request_rows, "aiohttp")


def through_requests(rows: DataFrame, url: str, request_rows: int) -> None:
    """One request after the other, each on the connection of the one before."""

    def send(part: Iterable[Any]) -> None:
        import requests

        with requests.Session() as session:
            session.trust_env = False  # a look at the environment for each request would be a tenth of its cost
            for some in _bodies(part, request_rows):
                session.post(url, json=some, timeout=30).raise_for_status()

    rows.foreachPartition(send)


def through_httpx(rows: DataFrame, url: str, request_rows: int) -> None:
    """As a skilled user writes it: one client for the task, requests in flight, another try where one may help."""
    in_flight = IN_FLIGHT

    async def send_all(part: Iterable[Any]) -> None:
        import json

        import anyio
        import httpx

        limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
        headers = {"Content-Type": "application/json"}
        bodies = _bodies(part, request_rows)

        async def post(client: httpx.AsyncClient, body: bytes) -> None:
            for attempt in range(5):
                answer = await client.post(url, content=body, headers=headers)
                if answer.status_code != 429 and answer.status_code < 500:
                    break
                await anyio.sleep(0.1 * 2**attempt)
            answer.raise_for_status()

        async def work(client: httpx.AsyncClient) -> None:
            for some in bodies:
                await post(client, json.dumps(some, separators=(",", ":")).encode())

        async with (
            httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as client,
            anyio.create_task_group() as workers,
        ):
            for _ in range(in_flight):
                workers.start_soon(work, client)

    def send(part: Iterable[Any]) -> None:
        import anyio

        anyio.run(send_all, part)

    rows.foreachPartition(send)


def _bodies(part: Iterable[Any], request_rows: int) -> Iterator[list[dict[str, Any]]]:
    rows = iter(part)
    while some := list(islice(rows, request_rows)):
        yield [row.asDict() for row in some]


OURS, AIOHTTP = "asyncsink.http", "asyncsink.http, transport=aiohttp"
REQUESTS, HTTPX = "foreachPartition + requests", f"foreachPartition + httpx, {IN_FLIGHT} in flight"
JOBS: Mapping[str, Callable[[DataFrame, str, int], None]] = {
    OURS: through_our_sink,
    AIOHTTP: through_our_sink_by_aiohttp,
    REQUESTS: through_requests,
    HTTPX: through_httpx,
}


def job(stub: Stub, rows: DataFrame, count: int, name: str, request_rows: int, delay_ms: int) -> Callable[[], Took]:
    """What sends the rows, and sees that as many have come.

    :raises RuntimeError: another number of rows came
    """
    here = os.getpid()

    def run() -> Took:
        came, before, start_s = stub.rows(), tree(here, stub.pid), perf_counter()
        JOBS[name](rows, f"{stub.url}/{delay_ms}", request_rows)
        took = Took(perf_counter() - start_s, spent_s(before, tree(here, stub.pid)))
        if (came := stub.rows() - came) != count:
            raise RuntimeError(f"{came} rows came of {name}, and {count} were sent")
        return took

    return run
