"""Lost answers and a writer that dies leave one result, where the API knows a repetition by its key or by its place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import Column, RetryPolicy, Schema, WriterInitContext
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

pytestmark = pytest.mark.anyio

ROWS = [{"id": number, "text": f"row {number}"} for number in range(7)]
CONTEXT = WriterInitContext(
    query_id="q", batch_id=1, writer_id=0, schema=Schema((Column("id", "bigint"), Column("text", "string")))
)


class KilledError(Exception):
    """Stands for the end of a process."""


class Api:
    """Keeps one result for each key of a POST and each place of a PUT, and loses the answer to the first of them."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}
        self.repetitions = 0

    def __call__(self, request: HttpRequest) -> Reaction:
        name = request.path if request.method == "PUT" else request.headers["idempotency-key"]
        is_new = name not in self.results
        self.repetitions += not is_new
        if is_new or request.method == "PUT":
            self.results[name] = json.loads(request.body)
        return Reaction.drop_after_storing() if is_new else Reaction.OK


def sink_of(options: dict[str, str]) -> HttpSink:
    sink = HttpSink.from_options(options)
    quick = RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.01)
    return HttpSink(sink.options, config=replace(sink.config, retry=quick))


async def die_half_way(sink: HttpSink, server: FaultyHttpServer) -> None:
    async with sink.create_writer(CONTEXT) as writer:
        await writer.write_many(ROWS[:5])
        await server.wait_received(1)
        raise KilledError


async def write_twice(sink: HttpSink, server: FaultyHttpServer) -> None:
    """Write some rows with a writer that dies, then all of them with the one that takes its place."""
    with pytest.raises(KilledError):
        await die_half_way(sink, server)
    async with sink.create_writer(CONTEXT) as writer:
        await writer.write_many(ROWS)
        await writer.flush(end_of_input=True)


async def test_by_key_requests_are_repeated_as_they_were() -> None:
    api = Api()
    async with FaultyHttpServer(api) as server:
        await write_twice(sink_of({"url": server.url, "batching": "deterministic", "maxBatchSize": "3"}), server)
    assert sorted(len(rows) for rows in api.results.values()) == [1, 3, 3]
    assert sorted((row for rows in api.results.values() for row in rows), key=lambda row: row["id"]) == ROWS
    assert api.repetitions >= len(api.results)


async def test_by_place_a_row_is_put_there_again() -> None:
    api = Api()
    async with FaultyHttpServer(api) as server:
        await write_twice(sink_of({"url": f"{server.url}/rows/{{id}}", "method": "PUT", "body": "single"}), server)
    assert api.results == {f"/rows/{row['id']}": row for row in ROWS}
    assert api.repetitions >= len(api.results)
