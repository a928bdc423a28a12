"""Rows that choose whom they go to, over real sockets: what shares a request, a limit, a key, and what is kept."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import Column, RequestResult, RetryPolicy, Schema, WriterInitContext, read_dead_letters
from asyncsink.dead_letters import DeadLetterReason, as_state
from asyncsink_http import HttpSink
from asyncsink_http.entries.entry import Row
from asyncsink_http.entries.target import Target
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction, ReceivedRequest

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.01)


def sink_to(url: str, limits: Mapping[str, Any] | None = None, **options: Any) -> HttpSink:
    """A sink as Spark makes it, of strings; ``header__X_A`` is the option ``header.X-A``."""
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    sink = HttpSink.from_options({"url": url, **named})
    return HttpSink(sink.options, config=replace(sink.config, **{"retry": QUICK, **(limits or {})}))


def rows_of(request: ReceivedRequest) -> list[dict[str, Any]]:
    found = json.loads(request.body)
    return found if isinstance(found, list) else [found]


async def test_rows_of_different_targets_never_share_a_request() -> None:
    async with FaultyHttpServer() as server:
        sink = sink_to(f"{server.url}/t/{{tenant}}?v={{v}}", header__X_Tenant="{tenant}", method="{op}", body="ndjson")
        async with sink.open() as writer:
            for n in range(60):
                row = {"n": n, "tenant": f"t{n % 3}", "v": n % 2, "op": ("put", "post")[n % 2]}
                await writer.write(row)
            await writer.flush(end_of_input=True)
    seen: Counter[int] = Counter()
    for request in server.received:
        for line in request.body.splitlines():
            row = json.loads(line)
            assert request.path == f"/t/{row['tenant']}?v={row['v']}"
            assert request.headers["x-tenant"] == row["tenant"]
            assert request.method == row["op"].upper()
            seen[row["n"]] += 1
    assert seen == Counter(range(60))
    assert len(server.received) == 6


async def test_a_batch_of_spark_is_split_by_its_targets() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [*range(100)], "to": [f"p{n % 4}" for n in range(100)]})
    schema = Schema((Column("id", "bigint"), Column("to", "string")))
    async with FaultyHttpServer() as server:
        sink = sink_to(f"{server.url}/{{to}}", bodyExclude="to")
        async with sink.create_writer(WriterInitContext(schema=schema)) as writer:
            await writer.write_batch(batch)
            await writer.flush(end_of_input=True)
    found = {request.path: [row["id"] for row in rows_of(request)] for request in server.received}
    assert found == {f"/p{n}": [*range(n, 100, 4)] for n in range(4)}


@pytest.mark.parametrize("body", ["ndjson", "single"])
async def test_rows_beside_one_that_cannot_go_anywhere_keep_their_targets(tmp_path: Path, body: str) -> None:
    batch = pa.RecordBatch.from_pydict({"id": [0, 1, 2, 3], "to": ["a", "..", "b", None]})
    schema = Schema((Column("id", "bigint"), Column("to", "string")))
    async with FaultyHttpServer() as server:
        kept: dict[str, Any] = {"deadLetter__path": str(tmp_path), "maxRejected": "1"}
        sink = sink_to(f"{server.url}/{{to}}", body=body, **kept)
        async with sink.create_writer(WriterInitContext(schema=schema)) as writer:
            await writer.write_batch(batch)
            await writer.flush(end_of_input=True)
            assert writer.statistics().dead_lettered == 2
    assert {request.path: request.body.strip() for request in server.received} == {
        "/a": b'{"id":0,"to":"a"}',
        "/b": b'{"id":2,"to":"b"}',
    }
    assert {letter.reason for letter in read_dead_letters(tmp_path)} == {DeadLetterReason.CONVERSION}


ROWS = pa.RecordBatch.from_pydict(
    {
        "body": ['{"n":1}', None, '{"n":3}'],
        "url": ["/orders/1", "/orders/2", "/orders/3"],
        "method": ["PUT", "delete", "patch"],
        "headers": pa.array([[("X-A", "1")], [], None], pa.map_(pa.string(), pa.string())),
        "idempotencyKey": ["k1", "k2", "k3"],
    }
)
SCHEMA = Schema(
    (
        Column("body", "string"),
        Column("url", "string"),
        Column("method", "string"),
        Column("headers", "map<string,string>"),
        Column("idempotencyKey", "string"),
    )
)


def rows_to(server: FaultyHttpServer) -> pa.RecordBatch:
    urls = pa.array([server.url + each.as_py() for each in ROWS.column("url")])
    return ROWS.set_column(1, "url", urls)


def told(request: ReceivedRequest) -> tuple[Any, ...]:
    headers = request.headers
    return request.method, request.path, headers.get("x-a"), headers.get("idempotency-key"), request.body


SENT = [
    ("PUT", "/orders/1", "1", "k1", b'{"n":1}'),
    ("DELETE", "/orders/2", None, "k2", b""),
    ("PATCH", "/orders/3", None, "k3", b'{"n":3}'),
]


async def test_each_row_has_method_address_headers_and_key_of_its_own() -> None:
    async with FaultyHttpServer([Reaction.throttle(0.001), Reaction.drop_after_storing()]) as server:
        sink = sink_to(server.url, body="single")
        async with sink.create_writer(WriterInitContext(schema=SCHEMA)) as writer:
            await writer.write_batch(rows_to(server))
            await writer.flush(end_of_input=True)
    assert {told(request) for request in server.received} == set(SENT)
    assert len(server.received) == 5
    assert "content-type" not in next(each for each in server.received if each.method == "DELETE").headers


async def test_dead_letters_keep_target_and_key_and_go_there_again(tmp_path: Path) -> None:
    mended = False

    def rule(request: HttpRequest) -> Reaction:
        return Reaction.OK if mended else Reaction.refuse(422)

    async with FaultyHttpServer(rule) as server:
        kept: dict[str, Any] = {"deadLetter__path": str(tmp_path), "maxRejected": "1"}
        sink = sink_to(server.url, body="single", **kept)
        async with sink.create_writer(WriterInitContext(schema=SCHEMA)) as writer:
            await writer.write_batch(rows_to(server))
            await writer.flush(end_of_input=True)
            assert writer.statistics().dead_lettered == 3
        mended = True
        # A program that sends them again knows nothing of the columns that they came of.
        again = sink_to(f"{server.url}/other", body="single")
        async with again.open(states=[as_state(read_dead_letters(tmp_path), again)]) as writer:
            await writer.flush(end_of_input=True)
            assert writer.statistics().acknowledged == 3
        assert {told(request) for request in server.stored} == set(SENT)


async def test_a_batch_of_dead_letters_is_split_by_their_targets(tmp_path: Path) -> None:
    async with FaultyHttpServer(lambda request: Reaction.refuse(422)) as server:
        sink = sink_to(f"{server.url}/{{to}}", deadLetter__path=str(tmp_path), maxRejected="1")
        async with sink.open() as writer:
            await writer.write_many([{"n": n, "to": f"p{n % 2}"} for n in range(4)])
    async with FaultyHttpServer() as mended:
        letters = [*read_dead_letters(tmp_path)]
        again = sink_to(f"{mended.url}/other")
        state = as_state(letters, again)
        urls = {entry.target.url for entry in state.entries if isinstance(entry, Row) and entry.target is not None}
        moved = [
            entry._replace(target=entry.target._replace(url=entry.target.url.replace(server.url, mended.url)))
            for entry in state.entries
            if isinstance(entry, Row) and entry.target is not None
        ]
        async with again.open(states=[replace(state, entries=(b'{"n":9}', *moved), sizes=(9, *state.sizes))]) as writer:
            await writer.flush(end_of_input=True)
    assert urls == {f"{server.url}/p0", f"{server.url}/p1"}
    found = {request.path: sorted(row["n"] for row in rows_of(request)) for request in mended.received}
    assert found == {"/other": [9], "/p0": [0, 2], "/p1": [1, 3]}


async def test_all_addresses_of_a_host_wait_for_its_retry_after() -> None:
    arrived_s: list[float] = []

    def rule(request: HttpRequest) -> Reaction:
        arrived_s.append(anyio.current_time())
        return Reaction.throttle(0.2) if request.number == 0 else Reaction.OK

    async with FaultyHttpServer(rule) as server:
        async with sink_to(f"{server.url}/{{id}}", {"max_in_flight_requests": 1}, body="single").open() as writer:
            await writer.write_many([{"id": number} for number in range(20)])
    assert len({request.path for request in server.received}) == 20
    assert arrived_s[1] - arrived_s[0] >= 0.2


async def test_with_other_hosts_allowed_none_waits_for_another() -> None:
    schema = Schema((Column("body", "string"), Column("url", "string")))
    arrived: list[str] = []

    def slow(request: HttpRequest) -> Reaction:
        arrived.append("slow")
        return Reaction.throttle(0.5) if arrived.count("slow") == 1 else Reaction.OK

    def quick(request: HttpRequest) -> Reaction:
        arrived.append("quick")
        return Reaction.OK

    async with FaultyHttpServer(slow) as one, FaultyHttpServer(quick) as other:
        sink = sink_to(one.url, {"max_in_flight_requests": 2}, body="single", urlAllow=f"{other.url}/in")
        async with sink.create_writer(WriterInitContext(schema=schema)) as writer:
            await writer.write({"body": "0", "url": f"{one.url}/0"})
            await writer.write_many([{"body": str(n), "url": f"{other.url}/in/{n}"} for n in range(5)])
            await writer.flush(end_of_input=True)
    assert arrived[-1] == "slow"
    assert Counter(arrived) == {"slow": 2, "quick": 5}


async def test_addresses_without_end_have_one_scope_and_are_forgotten() -> None:
    scopes: set[Any] = set()
    alive: list[int] = []

    class Watched(HttpSink):
        """Stores every row at once, and counts the targets that somebody still knows."""

        def scope_of(self, route: Any) -> Any:
            scopes.add(super().scope_of(route))
            return super().scope_of(route)

        @asynccontextmanager
        async def connect(self, context: Any) -> AsyncIterator[Any]:
            yield self

        async def submit_request_entries(self, entries: Any, client: Any) -> RequestResult:
            sent.append(entries.route.url)
            if len(sent) % 500 == 0:
                alive.append(sum(type(each) is Target for each in gc.get_objects()))
            return RequestResult.OK

    sent: list[str] = []
    sink = Watched(url="http://localhost/{id}", body="single")
    async with sink.open(replace(sink.config, max_buffered_requests=100)) as writer:
        for number in range(5000):
            await writer.write({"id": number})
        await writer.flush(end_of_input=True)
    assert len({*sent}) == len(sent) == 5000
    assert scopes == {None}
    # What is buffered or in flight, and a run of elements that has been converted ahead.
    assert max(alive) < 1000


async def test_options_of_the_same_name_take_the_place_of_a_header_of_the_row() -> None:
    schema = Schema((Column("body", "string"), Column("headers", "map<string,string>")))
    async with FaultyHttpServer() as server:
        sink = sink_to(server.url, header__X_Api_Key="mine", body="single")
        async with sink.create_writer(WriterInitContext(schema=schema)) as writer:
            await writer.write({"body": "1", "headers": {"x-api-key": "theirs", "X-More": "1"}})
    (request,) = server.received
    assert (request.headers["x-api-key"], request.headers["x-more"]) == ("mine", "1")


@pytest.mark.parametrize("body", ["json-array", "single"])
async def test_rows_without_targets_ask_nobody_for_routes(body: str) -> None:
    sink = HttpSink(url="http://localhost/", body=body)
    assert not sink.has_routes
    assert HttpSink(url="http://localhost/{id}", body=body).has_routes
    assert sink.fingerprint != HttpSink(url="http://localhost/{id}", body=body).fingerprint
