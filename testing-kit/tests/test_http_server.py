"""Every fault of the server, as a bare socket sees it."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from datetime import UTC, datetime

import anyio
import pytest

from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving


class Wire:
    """A blocking client that is no more than a socket."""

    def __init__(self, server: FaultyHttpServer) -> None:
        self.socket = socket.create_connection((server.host, server.port), timeout=10)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, body: bytes = b"[1]", *headers: str, path: str = "/in") -> None:
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers, "", ""]
        self.send("\r\n".join(lines).encode() + body)

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        raw = b""
        while b"\r\n\r\n" not in raw:
            raw += self.read()
        head, _, body = raw.partition(b"\r\n\r\n")
        status_line, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        while len(body) < int(headers["Content-Length"]):
            body += self.read()
        return int(status_line.split(" ")[1]), headers, body

    def read(self) -> bytes:
        data = self.socket.recv(65536)
        assert data, "the server closed the connection"
        return data

    def rest(self) -> bytes:
        """What comes until the server closes with a FIN; a reset raises ConnectionResetError."""
        data = b""
        while part := self.socket.recv(65536):
            data += part
        return data

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def server() -> Iterator[FaultyHttpServer]:
    with serving() as running:
        yield running


@pytest.fixture
def wire(server: FaultyHttpServer) -> Iterator[Wire]:
    client = Wire(server)
    yield client
    client.close()


def test_an_unscripted_request_is_stored_answered_and_logged(server: FaultyHttpServer, wire: Wire) -> None:
    wire.post(b'{"a": 1}', "X-Tag: blue", "X-Tag: green", path="/in?x=1")
    assert wire.answer() == (200, {"Content-Length": "0"}, b"")
    (request,) = server.received
    assert (request.method, request.path, request.body, request.stored) == ("POST", "/in?x=1", b'{"a": 1}', True)
    assert request.headers["x-tag"] == "blue, green"
    assert (request.number, request.connection, request.size_in_bytes) == (0, 0, 8)


def test_a_connection_serves_many_requests_and_is_counted_once(server: FaultyHttpServer, wire: Wire) -> None:
    for number in range(3):
        wire.post(b"%d" % number)
        assert wire.answer()[0] == 200
    assert [request.body for request in server.received] == [b"0", b"1", b"2"]
    assert server.connections == 1
    assert server.peak_in_flight == 1


def test_pipelined_requests_are_answered_in_order(server: FaultyHttpServer, wire: Wire) -> None:
    wire.post(b"first")
    wire.post(b"second")
    wire.post(b"third", "Connection: close")
    assert wire.rest().count(b"HTTP/1.1 200 OK") == 3
    assert [request.body for request in server.received] == [b"first", b"second", b"third"]


def test_a_status_with_headers_and_body_stores_nothing(server: FaultyHttpServer, wire: Wire) -> None:
    server.script(Reaction.refuse(400, b"row 3 has no id", {"X-Why": "schema"}))
    wire.post()
    assert wire.answer() == (400, {"Content-Length": "15", "X-Why": "schema"}, b"row 3 has no id")
    assert server.stored == []


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [
        (2, "2"),
        (datetime(2026, 11, 21, 8, 0, tzinfo=UTC), "Sat, 21 Nov 2026 08:00:00 GMT"),
        ("soon", "soon"),
    ],
)
def test_a_throttle_carries_retry_after(
    server: FaultyHttpServer, wire: Wire, retry_after: int | datetime | str, expected: str
) -> None:
    server.script(Reaction.throttle(retry_after), Reaction.throttle(status=503))
    wire.post()
    assert wire.answer()[:2] == (429, {"Content-Length": "0", "Retry-After": expected})
    wire.post()
    assert wire.answer()[:2] == (503, {"Content-Length": "0"})
    assert server.stored == []


@pytest.mark.parametrize(
    ("reaction", "stored"),
    [(Reaction.drop_before_storing("close"), False), (Reaction.drop_after_storing("close"), True)],
)
def test_a_closed_connection_ends_with_a_fin(
    server: FaultyHttpServer, wire: Wire, reaction: Reaction, stored: bool
) -> None:
    server.script(reaction)
    wire.post()
    assert wire.rest() == b""
    assert [request.stored for request in server.received] == [stored]


@pytest.mark.parametrize(
    ("reaction", "stored"),
    [(Reaction.drop_before_storing(), False), (Reaction.drop_after_storing(), True)],
)
def test_a_reset_connection_ends_with_an_rst(
    server: FaultyHttpServer, wire: Wire, reaction: Reaction, stored: bool
) -> None:
    server.script(reaction)
    wire.post()
    with pytest.raises(ConnectionResetError):
        wire.rest()
    assert [request.stored for request in server.received] == [stored]


def test_a_partial_answer_stops_in_the_middle(server: FaultyHttpServer, wire: Wire) -> None:
    server.script(Reaction.partial_answer(40, ending="close"))
    wire.post()
    assert wire.rest() == b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"
    assert len(server.stored) == 1


def test_a_partial_answer_can_end_with_a_reset(server: FaultyHttpServer, wire: Wire) -> None:
    server.script(Reaction.partial_answer(12))
    wire.post()
    with pytest.raises(ConnectionResetError):
        wire.rest()


def test_an_answer_that_is_cut_short_must_end_the_connection() -> None:
    with pytest.raises(ValueError, match="must end the connection"):
        Reaction(answered_bytes=3)


def test_a_keep_alive_connection_is_closed_without_notice(server: FaultyHttpServer, wire: Wire) -> None:
    server.script(Reaction.close_after_answer())
    wire.post()
    status, headers, _ = wire.answer()
    assert (status, headers) == (200, {"Content-Length": "0"})
    assert wire.rest() == b""


def test_connection_close_of_the_client_is_honoured(wire: Wire) -> None:
    wire.post(b"[1]", "Connection: close")
    assert wire.answer()[1] == {"Content-Length": "0", "Connection": "close"}
    assert wire.rest() == b""


def test_a_slow_answer_comes_and_its_request_is_stored_first(server: FaultyHttpServer, wire: Wire) -> None:
    server.script(Reaction(status=202).after(0.02))
    wire.post()
    assert wire.answer()[0] == 202
    assert len(server.stored) == 1


def test_gzip_is_decoded_in_the_log(server: FaultyHttpServer, wire: Wire) -> None:
    packed = gzip.compress(b"[" + b"1," * 500 + b"1]")
    wire.post(packed, "Content-Encoding: gzip")
    assert wire.answer()[0] == 200
    assert server.received[0].body == b"[" + b"1," * 500 + b"1]"
    assert server.received[0].size_in_bytes == len(packed)


def test_chunks_are_joined(server: FaultyHttpServer, wire: Wire) -> None:
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire.send(head + b"4\r\n[1,2\r\nA;x=y\r\n,3,4,5,6,7\r\n1\r\n]\r\n0\r\nX-Trailer: 1\r\n\r\n")
    assert wire.answer()[0] == 200
    assert server.received[0].body == b"[1,2,3,4,5,6,7]"
    wire.post(b"after")
    assert wire.answer()[0] == 200


def test_expect_100_continue_is_answered(server: FaultyHttpServer, wire: Wire) -> None:
    wire.send(b"POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
    assert wire.read() == b"HTTP/1.1 100 Continue\r\n\r\n"
    wire.send(b"abc")
    assert wire.answer()[0] == 200


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"HELLO\r\n\r\n", "no HTTP/1.1 request line"),
        (b"POST / HTTP/1.1\r\nno colon\r\n\r\n", "no header line"),
        (b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", "is no number"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no chunk size"),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc", "no gzip"),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Encoding: br\r\n\r\nabc", "'br' is not known"),
    ],
)
def test_a_malformed_request_is_answered_400(server: FaultyHttpServer, wire: Wire, sent: bytes, reason: str) -> None:
    wire.send(sent)
    status, headers, body = wire.answer()
    assert (status, headers["Connection"]) == (400, "close")
    assert reason in body.decode()
    assert server.malformed == [body.decode()]
    assert server.received == []


def test_a_request_that_ends_early_is_not_logged(server: FaultyHttpServer, wire: Wire) -> None:
    wire.send(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
    wire.socket.shutdown(socket.SHUT_WR)
    assert wire.rest() == b""
    assert server.received == []


def test_a_rule_sees_the_request_and_chooses() -> None:
    def rule(request: HttpRequest) -> Reaction:
        return Reaction.refuse(422) if b"poison" in request.body else Reaction.OK

    with serving(rule, keep_bodies=False) as server:
        wire = Wire(server)
        wire.post(b"[poison]")
        assert wire.answer()[0] == 422
        wire.post(b"[food]")
        assert wire.answer()[0] == 200
        wire.close()
        assert [(request.stored, request.body) for request in server.received] == [(False, b""), (True, b"")]
        with pytest.raises(ValueError, match="goes by a rule"):
            server.script(Reaction.OK)


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_held_request_is_answered_when_released(backend: str) -> None:
    async def main() -> None:
        async with FaultyHttpServer([Reaction.hang(stored=True)] * 3) as server:
            answers: list[bytes] = []

            async def ask() -> None:
                stream = await anyio.connect_tcp(server.host, server.port)
                async with stream:
                    await stream.send(b"PUT /x HTTP/1.1\r\n\r\n")
                    answers.append(await stream.receive())

            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(ask)
                await server.wait_received(3)
                assert (server.in_flight, answers) == (3, [])
                server.release()
            assert len(answers) == 3
            assert (server.peak_in_flight, server.in_flight, server.connections) == (3, 0, 3)

    anyio.run(main, backend=backend)


def test_a_client_that_leaves_a_held_request_ends_it(backend: str) -> None:
    async def main() -> None:
        async with FaultyHttpServer([Reaction.hang()]) as server:
            stream = await anyio.connect_tcp(server.host, server.port)
            await stream.send(b"PUT /x HTTP/1.1\r\n\r\n")
            await server.wait_received(1)
            await stream.aclose()
            with anyio.fail_after(10):
                await server.wait_idle()
            assert server.in_flight == 0

    anyio.run(main, backend=backend)


def test_leaving_ends_what_is_held(backend: str) -> None:
    async def main() -> None:
        async with FaultyHttpServer([Reaction.hang()]) as server:
            stream = await anyio.connect_tcp(server.host, server.port)
            await stream.send(b"PUT /x HTTP/1.1\r\n\r\n")
            await server.wait_received(1)
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()
        await stream.aclose()

    anyio.run(main, backend=backend)


def test_an_error_of_the_caller_leaves_as_it_came(backend: str) -> None:
    async def main() -> None:
        async with FaultyHttpServer():
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        anyio.run(main, backend=backend)


def test_a_rule_that_raises_ends_the_server_with_its_error(backend: str) -> None:
    def rule(request: HttpRequest) -> Reaction:
        raise LookupError("a bug in the rule")

    async def main() -> None:
        async with FaultyHttpServer(rule) as server:
            async with await anyio.connect_tcp(server.host, server.port) as stream:
                await stream.send(b"PUT /x HTTP/1.1\r\n\r\n")
                await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        anyio.run(main, backend=backend)
    assert raised.value.subgroup(LookupError) is not None


def test_what_another_service_answers_is_waited_for_while_others_are_served() -> None:
    come = anyio.Event()

    async def elsewhere() -> Reaction:
        await come.wait()
        return Reaction(status=201, headers={"X-From": "elsewhere"}, body=b"told")

    def react(request: HttpRequest) -> Reaction:
        if request.path == "/in":
            return Reaction(body=b"not this", later=elsewhere)
        come.set()
        return Reaction.OK

    with serving(react) as server:
        waiting, other = Wire(server), Wire(server)
        waiting.post()
        other.post(path="/other")
        assert other.answer()[0] == 200
        status, headers, body = waiting.answer()
        assert (status, headers["X-From"], body) == (201, "elsewhere", b"told")
        waiting.close()
        other.close()
        assert {each.path for each in server.received} == {"/in", "/other"}
