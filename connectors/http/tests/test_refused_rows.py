"""Rows that the server refuses, over real sockets: they are found, kept, and sent again."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from asyncsink import RequestRejectedError, RetryPolicy, TooManyRejectedError, read_dead_letters
from asyncsink.dead_letters import DeadLetterReason, as_state, entries_of
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction, ReceivedRequest
from asyncsink_testing.http_server import ReactionRule

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.01)


def sink_to(server: FaultyHttpServer, **options: str) -> HttpSink:
    """A sink as Spark makes it, of strings."""
    sink = HttpSink.from_options({"url": f"{server.url}/in", "maxBatchSize": "10", **options})
    return HttpSink(sink.options, config=replace(sink.config, retry=QUICK))


def refusing(*bad: int, status: int = 422) -> Reaction:
    return Reaction.refuse(status, b"no such customer " + b",".join(b"%d" % number for number in bad))


def refuses(bad: int, status: int = 422) -> ReactionRule:
    def rule(request: HttpRequest) -> Reaction:
        return refusing(bad, status=status) if bad in rows_of(request) else Reaction.OK

    return rule


def rows_of(request: HttpRequest) -> list[int]:
    rows = [json.loads(line) for line in request.body.splitlines()]
    return [row["id"] for row in (rows[0] if isinstance(rows[0], list) else rows)]


def stored_rows(server: FaultyHttpServer) -> Counter[int]:
    return Counter(row for request in server.stored for row in rows_of(request))


def keys(requests: list[ReceivedRequest]) -> list[str]:
    return [request.headers["idempotency-key"] for request in requests]


async def write(sink: HttpSink, count: int) -> None:
    async with sink.open() as writer:
        await writer.write_many([{"id": number} for number in range(count)])
        await writer.flush(end_of_input=True)
        counts = writer.statistics()
    assert counts.acknowledged + counts.dead_lettered + counts.dropped == counts.accepted == count


@pytest.mark.parametrize("body", ["json-array", "ndjson"])
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_one_row_at_fault_is_found_and_its_neighbours_are_stored_once(
    tmp_path: Path, body: str, status: int
) -> None:
    async with FaultyHttpServer(refuses(7, status)) as server:
        await write(sink_to(server, body=body, **{"deadLetter.path": str(tmp_path)}), 20)
    assert stored_rows(server) == Counter(set(range(20)) - {7})
    (letter,) = read_dead_letters(tmp_path)
    assert (letter.reason, letter.code) == (DeadLetterReason.REJECTED, str(status))
    assert entries_of([letter], HttpSink(url=server.url)) == [b'{"id":7}']
    assert f'from POST {server.url}/in; the server says "no such customer 7"' in letter.message
    # 10 rows are halved at most four times, two requests each, beside the other ten rows.
    assert len(server.received) <= 2 + 2 * 4


async def test_each_part_of_a_refused_request_has_a_key_of_its_own() -> None:
    async with FaultyHttpServer(refuses(3)) as server:
        await write(sink_to(server, onRejected="drop"), 10)
    found = keys(server.received)
    assert len(set(found)) == len(found)
    assert all(key.startswith(f"{found[0]}/") for key in found[1:])


async def test_a_part_whose_answer_is_lost_is_sent_again_as_it_was_under_its_key() -> None:
    lost: list[bytes] = []

    def rule(request: HttpRequest) -> Reaction:
        if 0 in rows_of(request):
            return refusing(0)
        if not lost:
            lost.append(request.body)
            return Reaction.drop_after_storing()
        return Reaction.OK

    async with FaultyHttpServer(rule) as server:
        await write(sink_to(server, onRejected="drop"), 10)
    repeated = [request for request in server.received if request.body == lost[0]]
    assert len(repeated) == 2
    assert len(set(keys(repeated))) == 1
    assert set(stored_rows(server)) == set(range(1, 10))


@pytest.mark.parametrize("body", ["json-array", "ndjson", "single"])
async def test_dead_letters_are_sent_again_by_a_new_writer(tmp_path: Path, body: str) -> None:
    size = {"maxBatchSize": "1" if body == "single" else "10"}
    async with FaultyHttpServer(refuses(4)) as server:
        await write(sink_to(server, body=body, **size, **{"deadLetter.path": str(tmp_path)}), 10)
    refused = keys([request for request in server.received if not request.stored])
    async with FaultyHttpServer() as mended:
        sink = sink_to(mended, body=body, **size)
        async with sink.open(states=[as_state(read_dead_letters(tmp_path), sink)]) as writer:
            await writer.flush(end_of_input=True)
            assert writer.statistics().acknowledged == 1
    assert stored_rows(mended) == {4: 1}
    # The key of a single row is the row's own; any other belongs to its request, and this one is new.
    assert (keys(mended.received)[0] in refused) == (body == "single")


async def test_dead_letters_of_single_rows_can_be_sent_without_the_keys_of_their_refusal(tmp_path: Path) -> None:
    single = {"body": "single", "maxBatchSize": "1"}
    async with FaultyHttpServer(refuses(4)) as server:
        await write(sink_to(server, **single, **{"deadLetter.path": str(tmp_path)}), 10)
    async with FaultyHttpServer() as mended:
        sink = sink_to(mended, **single, idempotencyKey="false")
        async with sink.open(states=[as_state(read_dead_letters(tmp_path), sink)]) as writer:
            await writer.flush(end_of_input=True)
    assert [request.headers.get("idempotency-key") for request in mended.received] == [None]
    assert stored_rows(mended) == {4: 1}


async def test_a_row_at_fault_fails_the_task_unless_something_else_is_said() -> None:
    async with FaultyHttpServer(refuses(7)) as server:
        with pytest.raises(
            RequestRejectedError,
            match=r'422: .* "no such customer 7".*; to go on without such entries, set on_rejected',
        ):
            await write(sink_to(server), 10)
    assert 7 not in stored_rows(server)


async def test_too_many_rows_at_fault_fail_the_task_whatever_was_said() -> None:
    async with FaultyHttpServer(lambda request: refusing()) as server:
        with pytest.raises(TooManyRejectedError):
            await write(sink_to(server, onRejected="drop", maxRejected="0.5"), 100)
