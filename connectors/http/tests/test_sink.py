"""The sink with the kernel's writer against a real server that misbehaves: what arrives, and what is said."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import (
    AsyncSinkWriter,
    ConversionError,
    DestinationUnavailableError,
    FatalRequestError,
    RequestRejectedError,
    RetryPolicy,
)
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction, ReceivedRequest

pytestmark = pytest.mark.anyio


QUICK = RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.01)


@asynccontextmanager
async def writing(
    server: FaultyHttpServer, limits: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[AsyncSinkWriter[Any, Any]]:
    batch = 1 if options.get("body") == "single" else 10
    config = replace(HttpSink.defaults, **{"max_batch_size": batch, "retry": QUICK, **(limits or {})})
    async with HttpSink(url=f"{server.url}/in", config=config, **options).open() as writer:
        yield writer


def rows_of(request: ReceivedRequest) -> list[int]:
    return [row["id"] for row in json.loads(request.body)]


def stored_rows(server: FaultyHttpServer) -> Counter[int]:
    return Counter(row for request in server.stored for row in rows_of(request))


def keys(server: FaultyHttpServer) -> list[str]:
    return [request.headers["idempotency-key"] for request in server.received]


async def test_rows_arrive_once_in_requests_of_the_batch_size() -> None:
    async with FaultyHttpServer() as server:
        async with writing(server) as writer:
            for number in range(25):
                await writer.write({"id": number})
    assert stored_rows(server) == Counter(range(25))
    assert sorted(len(rows_of(request)) for request in server.received) == [5, 10, 10]
    assert len(set(keys(server))) == 3


FAULTS = {
    "throttle": Reaction.throttle(0.01),
    "busy": Reaction.throttle(0.01, status=503),
    "gateway": Reaction.refuse(502),
    "reset before storing": Reaction.drop_before_storing(),
    "closed before storing": Reaction.drop_before_storing("close"),
    "reset after storing": Reaction.drop_after_storing(),
    "closed after storing": Reaction.drop_after_storing("close"),
    "partial answer": Reaction.partial_answer(),
    "slow": Reaction().after(0.005),
    "closed between requests": Reaction.close_after_answer(),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_one_fault_loses_nothing(fault: Reaction) -> None:
    async with FaultyHttpServer([Reaction.OK, fault]) as server:
        async with writing(server) as writer:
            for number in range(100):
                await writer.write({"id": number})
    rows = stored_rows(server)
    assert set(rows) == set(range(100))
    # Only a request whose answer was lost may be stored twice; a connection closed in between may look like it.
    doubled = 10 if fault.stored and fault.ending != "keep" else 0
    assert rows.total() - 100 <= doubled


async def test_all_faults_in_turn_lose_nothing() -> None:
    faults = list(FAULTS.values())

    def rule(request: HttpRequest) -> Reaction:
        which, fine = divmod(request.number, 3)
        return Reaction.OK if fine else faults[which % len(faults)]

    async with FaultyHttpServer(rule) as server:
        async with writing(server, {"max_in_flight_requests": 8}) as writer:
            for number in range(500):
                await writer.write({"id": number})
            await writer.flush(end_of_input=True)
            assert writer.statistics().acknowledged == 500
    assert set(stored_rows(server)) == set(range(500))
    assert server.peak_in_flight <= 8


@pytest.mark.parametrize(
    "fault", [Reaction.drop_after_storing(), Reaction.drop_before_storing(), Reaction.refuse(503), Reaction.refuse(408)]
)
async def test_a_request_of_unknown_outcome_is_sent_again_as_it_was_with_its_key(fault: Reaction) -> None:
    async with FaultyHttpServer([fault, fault]) as server:
        async with writing(server, {"max_in_flight_requests": 1}) as writer:
            await writer.write_many([{"id": number} for number in range(20)])
    first, second, third, other = server.received
    assert first.body == second.body == third.body
    assert keys(server)[0] == keys(server)[1] == keys(server)[2] != keys(server)[3]
    assert rows_of(other) == list(range(10, 20))


async def test_a_hanging_request_is_sent_again_after_its_deadline() -> None:
    async with FaultyHttpServer([Reaction.hang(stored=True)]) as server:
        async with writing(server, {"request_timeout_s": 0.05}) as writer:
            await writer.write({"id": 1})
    assert len(server.received) > 1  # on a busy machine more than two answers may be late
    assert len(set(keys(server))) == 1


async def test_single_rows_keep_their_key_over_every_resend() -> None:
    faults = [Reaction.throttle(0.001), Reaction.drop_after_storing(), Reaction.refuse(500)]
    async with FaultyHttpServer(faults) as server:
        async with writing(server, {"max_in_flight_requests": 2}, body="single") as writer:
            await writer.write_many([{"id": number} for number in range(5)])
    by_body: dict[bytes, set[str]] = {}
    for request in server.received:
        by_body.setdefault(request.body, set()).add(request.headers["idempotency-key"])
    assert sorted(by_body) == [b'{"id":%d}' % number for number in range(5)]
    assert all(len(found) == 1 for found in by_body.values())
    assert len(set().union(*by_body.values())) == 5


async def test_a_conflict_with_the_earlier_sending_of_the_same_request_is_waited_out() -> None:
    async with FaultyHttpServer([Reaction.drop_after_storing(), Reaction.refuse(409)]) as server:
        async with writing(server) as writer:
            await writer.write({"id": 1})
    assert len(server.received) == 3
    assert len(set(keys(server))) == 1


async def test_a_conflict_with_what_a_killed_task_has_sent_halves_no_request() -> None:
    async with FaultyHttpServer([Reaction.refuse(409)]) as server:
        async with writing(server, {"batching": "deterministic", "max_batch_size": 2}) as writer:
            await writer.write_many([{"id": 1}, {"id": 2}])
    assert stored_rows(server) == {1: 1, 2: 1}
    assert (len(server.received), len(set(keys(server)))) == (2, 1)


@pytest.mark.parametrize(
    ("reactions", "options"),
    [
        ([Reaction.refuse(409)], {}),
        ([Reaction.drop_before_storing(), Reaction.refuse(409)], {"reject_codes": "409"}),
        ([Reaction.drop_before_storing(), Reaction.refuse(409)], {"idempotency_key": False}),
    ],
)
async def test_any_other_conflict_rejects_the_rows(reactions: list[Reaction], options: dict[str, Any]) -> None:
    async with FaultyHttpServer(reactions) as server:
        with pytest.raises(RequestRejectedError, match="409: Conflict"):
            async with writing(server, **options) as writer:
                await writer.write({"id": 1})
        assert len(server.received) == len(reactions)


async def test_maps_and_broken_strings_of_a_batch_survive_the_search_for_a_row_at_fault() -> None:
    text = pa.Array.from_buffers(pa.string(), 3, pa.array([b"\xff", b"b", b"c"]).buffers())
    tags = pa.array([[("a", 1)], [], [("c", None)]], pa.map_(pa.string(), pa.int32()))
    times = pa.array([0, 0, 86_400_000_000], pa.int64()).view(pa.time64("us"))
    batch = pa.RecordBatch.from_arrays([text, tags, times], ["text", "tags", "at"])
    async with FaultyHttpServer() as server:
        async with writing(server) as writer:
            with pytest.raises(ConversionError, match=r"element 2: ValueError: .*no time of day"):
                await writer.write_batch(batch)
    (request,) = server.received
    assert json.loads(request.body) == [
        {"text": "\ufffd", "tags": {"a": 1}, "at": "00:00:00"},
        {"text": "b", "tags": {}, "at": "00:00:00"},
    ]


async def test_without_idempotency_key_the_header_is_not_sent() -> None:
    async with FaultyHttpServer() as server:
        async with writing(server, idempotency_key=False) as writer:
            await writer.write({"id": 1})
    assert "idempotency-key" not in server.received[0].headers


@pytest.mark.parametrize("body", ["json-array", "ndjson", "single"])
async def test_gzip_arrives_as_what_was_sent(body: str) -> None:
    async with FaultyHttpServer() as server:
        async with writing(server, body=body, compression="gzip") as writer:
            await writer.write_many([{"id": 1, "text": "é" * 500}])
    (request,) = server.received
    row = json.dumps({"id": 1, "text": "é" * 500}, ensure_ascii=False, separators=(",", ":"))
    assert request.body.decode() == {"json-array": f"[{row}]", "ndjson": f"{row}\n", "single": row}[body]
    assert request.headers["content-encoding"] == "gzip"
    assert request.size_in_bytes < 200


@pytest.mark.parametrize("body", ["json-array", "ndjson"])
async def test_no_body_exceeds_the_limit_in_bytes(body: str) -> None:
    limits = {"max_batch_size_in_bytes": 100, "max_record_size_in_bytes": 50, "max_batch_size": 500}
    async with FaultyHttpServer() as server:
        async with writing(server, limits, body=body) as writer:
            await writer.write_many([{"id": 10**number} for number in range(20)])
    assert max(request.size_in_bytes for request in server.received) <= 100
    assert len(server.received) < 20


async def test_401_fails_with_address_answer_and_remedy_and_without_the_token() -> None:
    async with FaultyHttpServer([Reaction.refuse(401, b'{"error": "token s3cret has expired"}')] * 9) as server:
        with pytest.raises(FatalRequestError) as raised:
            async with writing(server, bearer_token="s3cret") as writer:
                await writer.write({"id": 1})
        assert len(server.received) == 1
    text = str(raised.value)
    assert (
        f'401: Unauthorized from POST {server.url}/in; the server says "{{"error": "token *** has expired"}}". '
        "The server wants to know who sends. Check the options of credentials, such as bearerToken, "
    ) in text
    assert "s3cret" not in text + repr(raised.value.__cause__)


async def test_400_for_a_poison_row_fails_with_what_the_server_says() -> None:
    def rule(request: HttpRequest) -> Reaction:
        return Reaction.refuse(400, b"row 3 has no id") if b"poison" in request.body else Reaction.OK

    async with FaultyHttpServer(rule) as server:
        async with writing(server) as writer:
            await writer.write_many([{"id": number} for number in range(10)])
            await writer.flush(end_of_input=True)
            await writer.write({"poison": 1})
            with pytest.raises(RequestRejectedError) as raised:
                await writer.flush(end_of_input=True)
            await writer.aclose()
    assert f'400: Bad Request from POST {server.url}/in; the server says "row 3 has no id".' in str(raised.value)
    assert stored_rows(server) == Counter(range(10))


async def test_an_unreachable_host_fails_with_host_and_port_when_time_is_up() -> None:
    async with FaultyHttpServer() as server:
        pass
    with pytest.raises(DestinationUnavailableError) as raised:
        async with writing(server, {"retry": replace(QUICK, timeout_s=0.05)}) as writer:
            await writer.write({"id": 1})
    assert f"no connection to host '127.0.0.1', port {server.port}" in str(raised.value)


async def test_the_client_never_opens_more_connections_than_requests_in_flight() -> None:
    async with FaultyHttpServer(lambda request: Reaction.OK.after(0.001)) as server:
        async with writing(server, {"max_in_flight_requests": 5, "max_batch_size": 1}) as writer:
            await writer.write_many([{"id": number} for number in range(200)])
    assert server.peak_in_flight <= 5
    assert server.connections == server.peak_in_flight


def test_a_sink_survives_pickling_with_its_fingerprint() -> None:
    sink = HttpSink(url="http://localhost/in", bearer_token="s3cret", body="ndjson")
    twin = pickle.loads(pickle.dumps(sink))
    assert twin.fingerprint == sink.fingerprint
    assert twin.options == sink.options
    assert twin.size_in_bytes(b"123") == sink.size_in_bytes(b"123")
    assert "s3cret" not in sink.fingerprint
