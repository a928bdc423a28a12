"""Bytes and ends pass the proxy: at once, late, or when they are released."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import anyio
import pytest

from asyncsink_testing.tcp_proxy import BlockingTcpProxy, FaultyTcpProxy, TcpFault, Traffic
from asyncsink_testing.tcp_proxy.fault import Direction, Ending

from .wire import HOUR_S, Echo, Peer, connected, healthy, is_reset, reset, running


def test_bytes_pass_both_ways_and_are_counted(proxy: BlockingTcpProxy, client: Peer) -> None:
    assert client.ask(b"one") == b"one"
    assert client.ask(b"three") == b"three"
    assert proxy.address == (proxy.host, proxy.port)
    assert (proxy.traffic.connections, proxy.traffic.open) == (1, 1)
    client.close()
    proxy.wait_idle()
    assert proxy.traffic == Traffic(connections=1, bytes_to_upstream=8, bytes_to_client=8)


def test_megabytes_pass_unchanged(client: Peer) -> None:
    data = bytes(range(256)) * 16_384
    sender = threading.Thread(target=client.send, args=(data,))
    sender.start()
    assert client.read(len(data)) == data
    sender.join()


def test_a_client_that_has_finished_sending_gets_its_answer(echo: Echo, client: Peer) -> None:
    client.send(b"last words")
    client.socket.shutdown(socket.SHUT_WR)
    assert client.ending() == (b"last words", "close")
    assert echo.endings.get(timeout=10) == "close"


def test_a_reset_by_the_client_reaches_the_upstream(echo: Echo, proxy: BlockingTcpProxy, client: Peer) -> None:
    assert client.ask(b"x") == b"x"
    reset(client.socket)
    assert echo.endings.get(timeout=10) == "reset"
    proxy.wait_idle()


@pytest.mark.parametrize(("command", "ending"), [(b"reset yourself", "reset"), (b"close yourself", "close")])
def test_an_end_by_the_upstream_reaches_the_client(client: Peer, command: bytes, ending: Ending) -> None:
    client.send(command)
    assert client.ending() == (b"", ending)


def test_a_client_that_writes_after_the_upstream_closed_is_reset(proxy: BlockingTcpProxy, client: Peer) -> None:
    client.send(b"close yourself")
    assert client.read(1) == b""
    with suppress(ConnectionError):
        while True:  # an end that never came would be ended by the test's timeout
            client.send(b"anyone there?")
    proxy.wait_idle()


def test_an_upstream_that_cannot_be_reached_resets_the_client_and_is_named(backend: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with running(backend, ("127.0.0.1", port)) as proxy:
            assert is_reset(proxy.address)
            proxy.wait_connections(1)
            proxy.wait_idle()
            (failure,) = proxy.failures
            assert failure.startswith(f"127.0.0.1:{port}: ")
            assert "refused" in failure


def test_the_upstream_may_be_given_by_name(backend: str, echo: Echo) -> None:
    with running(backend, ("localhost", echo.address[1])) as proxy:
        assert healthy(proxy)


def test_an_upstream_without_an_address_is_named(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(anyio, "getaddrinfo", unknown)

    async def main() -> None:
        async with FaultyTcpProxy(("broker.example", 9092)):
            raise AssertionError("entered")

    with pytest.raises(socket.gaierror) as raised:
        anyio.run(main, backend=backend)
    assert raised.value.__notes__ == ["the upstream's host is 'broker.example'; give one that this machine can resolve"]


@pytest.mark.parametrize("direction", ["to_upstream", "to_client"])
def test_latency_concerns_its_direction(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer, direction: Direction
) -> None:
    proxy.script(TcpFault.latency(HOUR_S, direction))
    client.send(b"slow")
    if direction == "to_client":
        assert echo.received.get(timeout=10) == b"slow"
    proxy.wait_held(4)
    assert healthy(proxy)
    arrived = 4 if direction == "to_client" else 0
    assert (proxy.traffic.bytes_to_upstream, proxy.traffic.bytes_to_client) == (5 + arrived, 5)
    assert client.hears_nothing()


def test_latency_keeps_the_order(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.switch(TcpFault.latency(0.05))
    client.send(b"first,")
    proxy.wait_held(6)
    proxy.switch(TcpFault.NONE)
    client.send(b"second")
    assert client.read(12) == b"first,second"


def test_a_stalled_answer_is_stored_and_comes_when_released(echo: Echo, proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.stall("to_client"))
    client.send(b"ask")
    assert echo.received.get(timeout=10) == b"ask"
    proxy.wait_held(3)
    assert client.hears_nothing()
    proxy.release()
    assert client.read(3) == b"ask"
    assert client.ask(b"next") == b"next"


def test_a_stalled_request_is_not_stored_until_released(echo: Echo, proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.stall("to_upstream"))
    client.send(b"ask")
    proxy.wait_held(3)
    assert healthy(proxy)
    assert echo.received.get(timeout=10) == b"fresh"
    proxy.release()
    assert client.read(3) == b"ask"


def test_releasing_ends_a_standing_stall_on_every_connection(proxy: BlockingTcpProxy, client: Peer) -> None:
    assert client.ask(b"before") == b"before"
    proxy.switch(TcpFault.stall())
    with connected(proxy.address) as other:
        client.send(b"one")
        other.send(b"three")
        proxy.wait_held(8)
        proxy.release()
        assert (client.read(3), other.read(5)) == (b"one", b"three")
        assert client.ask(b"after") == b"after"
    assert proxy.fault == TcpFault.NONE


def test_a_stall_further_on_in_the_script_is_not_ended_by_releasing_the_first(
    proxy: BlockingTcpProxy, client: Peer
) -> None:
    proxy.script(TcpFault.stall(), TcpFault.stall())
    for number in range(2):
        client.send(b"%d" % number)
        proxy.wait_held(1)
        proxy.release()
        if not number:
            assert client.read(1) == b"0"
    assert client.read(1) == b"1"
    assert proxy.met == [TcpFault.stall(), TcpFault.stall()]


def test_a_stall_holds_the_end_behind_the_bytes(echo: Echo, proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.stall("to_upstream"))
    client.send(b"ask")
    client.socket.shutdown(socket.SHUT_WR)
    proxy.wait_held(3)
    assert healthy(proxy)
    assert echo.received.get(timeout=10) == b"fresh"
    assert echo.endings.get(timeout=10) == "close"
    proxy.release()
    assert client.ending() == (b"ask", "close")


def test_a_long_stall_makes_the_sender_wait(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.switch(TcpFault.stall("to_upstream"))
    data = bytes(40_000_000)
    sender = threading.Thread(target=client.send, args=(data,))
    sender.start()
    proxy.wait_held(16_000_000)
    assert sender.is_alive()
    assert proxy.traffic.held_bytes < 20_000_000
    proxy.release()
    assert client.read(len(data)) == data
    sender.join()
