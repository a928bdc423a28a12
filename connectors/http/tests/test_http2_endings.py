"""Servers of HTTP/2 that end connections and streams before their requests, and hold requests up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded
from h2.settings import SettingCodes

from asyncsink import RequestError
from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.http2_connection import Goaways
from asyncsink_http.client.httpcore_transport import HttpcoreTransport
from asyncsink_http.redaction import Redaction

pytestmark = pytest.mark.anyio

WINDOW = 65_535
LARGE = b"x" * (WINDOW + 10_000)


@dataclass
class Peer:
    """One connection as the server has it."""

    number: int
    h2: H2Connection
    writer: asyncio.StreamWriter
    received: dict[int, int] = field(default_factory=dict)
    """Bytes of the body by stream."""
    complete: list[int] = field(default_factory=list)
    """Streams whose request has come whole."""

    def take_more(self, stream: int) -> None:
        self.h2.acknowledge_received_data(self.received[stream], stream)

    def answer(self, stream: int, status: int = 200) -> None:
        self.h2.send_headers(stream, [(":status", str(status))])
        self.h2.send_data(stream, b"said", end_stream=True)

    def go_away(self, last_stream: int) -> None:
        # By hand, since h2 says nothing more behind it.
        payload = last_stream.to_bytes(4, "big") + bytes(4)
        self.writer.write(self.h2.data_to_send() + frame(7, payload))


Rule = Callable[[Peer, Event], None]


def frame(kind: int, payload: bytes, stream: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + stream.to_bytes(4, "big") + payload


class Sender:
    def __init__(self, port: int) -> None:
        url = f"http://127.0.0.1:{port}/in"
        options = HttpOptions.from_options({"url": url, "httpVersion": "2"}).resolved()
        self._url = options.url
        self.transport = HttpcoreTransport(options, Redaction(options))
        self.peers: list[Peer] = []

    async def send(self, body: bytes = b"[1]") -> HttpAnswer:
        with anyio.fail_after(10):  # where nothing wakes it, it would wait for ever
            return await self.transport.send(HttpRequest("POST", self._url, (), body, "test/-/0/0-1", 1, 1))


@asynccontextmanager
async def connected(rule: Rule) -> AsyncIterator[Sender]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(len(sender.peers), H2Connection(H2Configuration(client_side=False)), writer)
        sender.peers.append(peer)
        peer.h2.initiate_connection()
        while True:
            writer.write(peer.h2.data_to_send())
            data = await reader.read(WINDOW)
            if not data:
                break
            for event in peer.h2.receive_data(data):
                if isinstance(event, DataReceived):
                    peer.received[event.stream_id] = peer.received.get(event.stream_id, 0) + len(event.data)
                if isinstance(event, StreamEnded):
                    peer.complete.append(event.stream_id)
                rule(peer, event)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sender = Sender(server.sockets[0].getsockname()[1])
    async with sender.transport:
        yield sender
    server.close()


@pytest.mark.parametrize("last", [1, 2**31 - 1], ids=["with requests on the way", "before it takes no more"])
async def test_what_a_server_has_begun_is_answered_though_it_goes_away_and_the_rest_goes_elsewhere(last: int) -> None:
    def rule(peer: Peer, event: Event) -> None:
        if not isinstance(event, StreamEnded):
            return
        if peer.number:
            peer.answer(event.stream_id)
        elif len(peer.complete) == 2:
            peer.go_away(last)
            for stream in peer.complete:
                if stream <= last:
                    peer.answer(stream)

    async with connected(rule) as sender:
        answers: list[int] = []

        async def send() -> None:
            answers.append((await sender.send()).status)

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            group.start_soon(send)
        await send()
        assert answers == [200, 200, 200]
        assert [peer.complete for peer in sender.peers] == [[1, 3], [1, 3] if last == 1 else [1]]


@pytest.mark.parametrize("resets", [False, True])
async def test_a_request_that_is_refused_before_it_has_been_sent_whole_has_its_answer(resets: bool) -> None:
    def rule(peer: Peer, event: Event) -> None:
        if isinstance(event, RequestReceived):
            peer.answer(event.stream_id, 413)
            if resets:
                peer.h2.reset_stream(event.stream_id, ErrorCodes.NO_ERROR)

    async with connected(rule) as sender:
        answer = await sender.send(LARGE)
        assert (answer.status, answer.body) == (413, b"said")


async def test_a_request_that_is_stored_before_it_has_been_sent_whole_is_sent_whole() -> None:
    def rule(peer: Peer, event: Event) -> None:
        if isinstance(event, RequestReceived):
            peer.answer(event.stream_id)
        if isinstance(event, DataReceived):
            peer.h2.acknowledge_received_data(len(event.data), event.stream_id)

    async with connected(rule) as sender:
        assert (await sender.send(LARGE)).status == 200
        assert sender.peers[0].received == {1: len(LARGE)}


async def test_a_stream_that_is_reset_before_its_request_has_been_sent_whole_is_lost() -> None:
    def rule(peer: Peer, event: Event) -> None:
        if isinstance(event, RequestReceived):
            peer.h2.reset_stream(event.stream_id, ErrorCodes.REFUSED_STREAM)

    async with connected(rule) as sender:
        with pytest.raises(RequestError) as raised:
            await sender.send(LARGE)
        assert raised.value.code == "CONNECTION_LOST"


async def test_an_answer_is_seen_while_those_before_it_are_waited_for() -> None:
    come = [anyio.Event(), anyio.Event()]

    def rule(peer: Peer, event: Event) -> None:
        if isinstance(event, StreamEnded) and len(peer.complete) < 3:
            come[len(peer.complete) - 1].set()
        elif isinstance(event, StreamEnded):
            peer.answer(event.stream_id)

    async with connected(rule) as sender, anyio.create_task_group() as group:
        for each in come:
            group.start_soon(sender.send)
            await each.wait()
        assert (await sender.send()).status == 200
        assert len(sender.peers) == 1
        group.cancel_scope.cancel()


async def test_leave_to_send_more_that_another_request_has_read_is_used() -> None:
    waiting = anyio.Event()

    def rule(peer: Peer, event: Event) -> None:
        if isinstance(event, StreamEnded) and event.stream_id == 1:
            waiting.set()
        elif isinstance(event, DataReceived) and peer.received.get(3) == WINDOW - 3:
            # In one piece with the answer of the one that reads: the other one has nothing to read of its own.
            peer.h2.acknowledge_received_data(WINDOW - 3, 3)
            peer.answer(1)
        elif isinstance(event, StreamEnded):
            peer.answer(event.stream_id)

    async with connected(rule) as sender, anyio.create_task_group() as group:
        group.start_soon(sender.send)
        await waiting.wait()
        assert (await sender.send(LARGE)).status == 200
        assert len(sender.peers) == 1


async def test_fewer_streams_than_are_under_way_stop_none_of_them() -> None:
    def rule(peer: Peer, event: Event) -> None:
        if not isinstance(event, StreamEnded):
            return
        if peer.number:
            peer.answer(event.stream_id)
        elif len(peer.complete) == 10:
            peer.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 3})
            for stream in peer.complete:
                peer.answer(stream)

    async with connected(rule) as sender:
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(sender.send)
        assert (await sender.send()).status == 200
        assert len(sender.peers) == 2


async def test_what_a_server_says_wrong_is_no_fault_of_the_request() -> None:
    def rule(peer: Peer, event: Event) -> None:
        if isinstance(event, StreamEnded):
            peer.writer.write(frame(0, b"of no stream"))

    async with connected(rule) as sender:
        with pytest.raises(RequestError) as raised:
            await sender.send()
        assert raised.value.code == "CONNECTION_LOST"


@pytest.mark.parametrize("piece", range(1, 40))
def test_goaway_is_taken_out_wherever_what_comes_is_cut(piece: int) -> None:
    before, behind = frame(4, b"") + frame(1, b"headers", 1), frame(0, b"") + frame(0, b"data", 1)
    data = before + frame(7, (5).to_bytes(4, "big") + bytes(4)) + behind + frame(7, (3).to_bytes(4, "big") + b"\0" * 9)
    goaways = Goaways()
    assert not goaways.leaves_out(7)
    kept = b"".join(goaways.taken_out(data[start : start + piece]) for start in range(0, len(data), piece))
    assert kept == before + behind
    assert [goaways.leaves_out(stream) for stream in (1, 3, 5)] == [False, False, True]
