"""Every body over a real socket, from whole Arrow batches and row by row, read back by what servers read it by."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
import pytest

from asyncsink import AsyncSinkWriterConfig, Column, Schema, WriterInitContext
from asyncsink.arrow import ArrowBlock
from asyncsink_http import HttpSink
from asyncsink_http.entries.converter import HttpConverter
from asyncsink_testing import FaultyHttpServer, Reaction, ReceivedRequest

pytestmark = pytest.mark.anyio

COUNT = 7
ROWS = pa.RecordBatch.from_pydict({"id": [*range(COUNT)], "text": [f'é "{number}"\n' for number in range(COUNT)]})
READY = pa.RecordBatch.from_pydict({"body": [bytes([number, 10, 255]) for number in range(COUNT)]})
KINDS = {"id": "bigint", "text": "string", "body": "binary"}


def config(**limits: Any) -> AsyncSinkWriterConfig:
    return replace(HttpSink.defaults, **limits)


def context_of(batch: pa.RecordBatch) -> WriterInitContext:
    schema = Schema(tuple(Column(name, KINDS[name]) for name in batch.schema.names))
    return WriterInitContext(query_id="q", batch_id=1, writer_id=0, schema=schema)


async def arrived(batch: pa.RecordBatch, **options: Any) -> list[ReceivedRequest]:
    """The requests that carry a batch; written row by row its rows have to make the same ones."""
    found = []
    for whole in (True, False):
        async with FaultyHttpServer() as server:
            sink = HttpSink(url=server.url, **options)
            limits: dict[str, Any] = {} if sink.config.max_batch_size == 1 else {"max_batch_size": 3}
            sink = HttpSink(url=server.url, config=replace(sink.config, max_in_flight_requests=1, **limits), **options)
            async with sink.create_writer(context_of(batch)) as writer:
                if whole:
                    await writer.write_batch(batch)
                else:
                    for row in batch.to_pylist():
                        await writer.write(row)
                await writer.flush(end_of_input=True)
        found.append(server.stored)
    assert [request.body for request in found[0]] == [request.body for request in found[1]]
    return found[0]


def lines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines()]


def bulk(body: bytes) -> list[Any]:
    read = lines(body)
    assert [line["index"]["_id"] for line in read[::2]] == [row["id"] for row in read[1::2]]
    return read[1::2]


BULK = {"body": "template", "template_row": '{{"index":{{"_id":{id}}}}}\n{row}', "template_separator": "\n"}
ENVELOPE = {"body": "template", "template_prefix": '{"rows":[', "template_suffix": "]}"}


@pytest.mark.parametrize(
    ("options", "content_type", "rows_of"),
    [
        ({}, "application/json", json.loads),
        ({"compression": "gzip"}, "application/json", json.loads),  # the server unpacks it
        ({"body": "ndjson"}, "application/x-ndjson", lines),
        ({"body": "single"}, "application/json", lambda body: [json.loads(body)]),
        (ENVELOPE, "application/json", lambda body: json.loads(body)["rows"]),
        ({**BULK, "template_suffix": "\n", "content_type": "application/x-ndjson"}, "application/x-ndjson", bulk),
    ],
)
async def test_rows_are_read_back(
    options: dict[str, Any], content_type: str, rows_of: Callable[[bytes], list[Any]]
) -> None:
    requests = await arrived(ROWS, **options)
    assert [row for request in requests for row in rows_of(request.body)] == ROWS.to_pylist()
    assert {request.headers["content-type"] for request in requests} == {content_type}
    assert len(requests) == (COUNT if options.get("body") == "single" else 3)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_rows_that_go_alone_have_a_key_each_however_they_are_written(method: str) -> None:
    batch = ROWS.append_column("body", pa.array([b"the same"] * COUNT))
    async with FaultyHttpServer() as server:
        sink = HttpSink(url=server.url + "/rows/{id}", method=method, body="single", body_exclude="text")
        for whole in (True, False):
            async with sink.create_writer(context_of(batch)) as writer:
                await (writer.write_batch(batch) if whole else writer.write_many(batch.to_pylist()))
                await writer.flush(end_of_input=True)
    assert len(server.stored) == 2 * COUNT
    keys = {(request.path, request.headers["idempotency-key"]) for request in server.stored}
    assert sorted(path for path, _ in keys) == [f"/rows/{number}" for number in range(COUNT)]
    assert len({key.rpartition("/")[2] for _, key in keys}) == COUNT


async def test_forms_are_read_back() -> None:
    requests = await arrived(ROWS, body="form")
    found = [parse_qs(request.body.decode(), strict_parsing=True) for request in requests]
    assert found == [{name: [str(value)] for name, value in row.items()} for row in ROWS.to_pylist()]
    assert requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


async def test_raw_bytes_arrive_as_they_are() -> None:
    requests = await arrived(READY, body="raw")
    assert [request.body for request in requests] == READY.column(0).to_pylist()
    assert requests[0].headers["content-type"] == "application/octet-stream"


class NoObjects(HttpSink):
    """The sink itself, in which no row of a batch may become an object."""

    def converter(self, schema: Schema | None) -> HttpConverter:
        made = super().converter(schema)
        blocks = made.apply_batch

        def guarded(batch: pa.RecordBatch, context: Any) -> Any:
            block = blocks(batch, context)
            assert isinstance(block, ArrowBlock)
            sizes = [block.size_in_bytes(row, row + 1) for row in range(len(block))]
            return ArrowBlock(block.batch, no_object, sizes)

        made.apply_batch = guarded  # type: ignore[method-assign]
        return made


def no_object(batch: pa.RecordBatch, index: int) -> Any:
    raise AssertionError(f"row {index} became an object")


async def test_no_row_of_a_batch_becomes_an_object() -> None:
    async with FaultyHttpServer([Reaction.throttle(0)]) as server:
        sink = NoObjects(url=server.url, config=config(max_batch_size=3))
        async with sink.create_writer(context_of(ROWS)) as writer:
            for _ in range(2):
                await writer.write_batch(ROWS)
            await writer.flush(end_of_input=True)
    rows = [row["id"] for request in server.stored for row in json.loads(request.body)]
    assert sorted(rows) == sorted([*range(COUNT)] * 2)


async def test_with_deterministic_batching_a_replay_repeats_keys_whatever_the_blocks() -> None:
    keys = []
    for size in (COUNT, 2):
        async with FaultyHttpServer() as server:
            sink = HttpSink(url=server.url, config=config(max_batch_size=3, batching="deterministic"))
            async with sink.create_writer(context_of(ROWS)) as writer:
                for start in range(0, COUNT, size):
                    await writer.write_batch(ROWS.slice(start, size))
                await writer.flush(end_of_input=True)
        keys.append({request.headers["idempotency-key"]: request.body for request in server.stored})
    assert keys[0] == keys[1]
    assert len(keys[0]) == 3
