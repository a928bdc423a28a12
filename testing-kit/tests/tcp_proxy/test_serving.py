"""Refusals, outages, and what is left when the proxy is left."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal

import anyio
import pytest

from asyncsink_testing.tcp_proxy import BlockingTcpProxy, FaultyTcpProxy, TcpFault, Traffic, proxying
from asyncsink_testing.tcp_proxy.fault import Ending

from .wire import HOUR_S, Echo, Peer, connected, healthy, is_reset


def test_a_scripted_refusal_meets_the_next_connection(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.refuse(), TcpFault.lose_request("close"))
    assert client.ask(b"open already") == b"open already"
    assert is_reset(proxy.address)
    client.send(b"ask")
    assert client.ending() == (b"", "close")
    proxy.wait_idle()
    assert (proxy.traffic.connections, proxy.traffic.refused) == (2, 1)


def test_a_standing_refusal_lasts_until_it_is_switched_off(proxy: BlockingTcpProxy) -> None:
    proxy.switch(TcpFault.refuse())
    for _ in range(3):
        assert is_reset(proxy.address)
    proxy.wait_connections(3)
    assert proxy.traffic == Traffic(connections=3, refused=3)
    proxy.switch(TcpFault.NONE)
    assert healthy(proxy)


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_an_outage_ends_connections_and_refuses_new_ones(proxy: BlockingTcpProxy, client: Peer, ending: Ending) -> None:
    address = proxy.address
    assert client.ask(b"before") == b"before"
    with proxy.outage(ending):
        assert client.ending() == (b"", ending)
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address, timeout=10)
        proxy.wait_idle()
    assert proxy.address == address
    assert healthy(proxy)


def test_an_outage_may_let_open_connections_live(proxy: BlockingTcpProxy, client: Peer) -> None:
    assert client.ask(b"before") == b"before"
    with proxy.outage(ending=None):
        assert client.ask(b"within") == b"within"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(proxy.address, timeout=10)
    assert client.ask(b"after") == b"after"


def test_outages_follow_each_other_and_end_by_errors_too(proxy: BlockingTcpProxy) -> None:
    for _ in range(3):
        with pytest.raises(LookupError, match="mine"), proxy.outage():
            raise LookupError("mine")
        assert healthy(proxy)


def test_an_outage_within_an_outage_is_an_error(proxy: BlockingTcpProxy) -> None:
    with proxy.outage():
        with pytest.raises(RuntimeError, match="in an outage already"), proxy.outage():
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(proxy.address, timeout=10)
    assert healthy(proxy)


FAULTS_TO_LEAVE_IN = [
    TcpFault.NONE,
    TcpFault.stall(),
    TcpFault.latency(HOUR_S),
    TcpFault.lose_answer().leaving_open("client"),
    TcpFault.lose_answer().leaving_open("upstream"),
]


async def ask_and_stay(proxy: FaultyTcpProxy, echo: Echo, raw: socket.socket) -> None:
    """Leave a connection in whatever the fault makes of it."""
    raw.setblocking(False)
    with suppress(BlockingIOError):
        raw.connect(proxy.address)
    await anyio.wait_writable(raw)
    raw.send(b"ask")
    await proxy.wait_connections(1)
    if proxy.fault.stalled or proxy.fault.latency_to_upstream_s:
        await proxy.wait_held(3)
    else:
        await anyio.to_thread.run_sync(echo.received.get)


def assert_gone(raw: socket.socket, address: tuple[str, int]) -> None:
    """That the connection has ended and nobody listens any more."""
    Peer(raw).ending()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=10)


@pytest.mark.parametrize("fault", FAULTS_TO_LEAVE_IN)
@pytest.mark.parametrize("leaving", ["normally", "by an error", "by cancellation"])
def test_leaving_closes_everything(
    backend: str, echo: Echo, fault: TcpFault, leaving: Literal["normally", "by an error", "by cancellation"]
) -> None:
    async def main(raw: socket.socket) -> FaultyTcpProxy:
        proxy = FaultyTcpProxy(echo.address, fault=fault)
        with anyio.CancelScope() as scope, suppress(LookupError):
            async with proxy:
                await ask_and_stay(proxy, echo, raw)
                if leaving == "by an error":
                    raise LookupError("mine")
                if leaving == "by cancellation":
                    scope.cancel()
                    await anyio.sleep_forever()
        assert scope.cancelled_caught == (leaving == "by cancellation")
        return proxy

    with socket.socket() as raw:
        proxy = anyio.run(main, raw, backend=backend)
        assert_gone(raw, proxy.address)
    assert (proxy.traffic.connections, proxy.traffic.open, proxy.traffic.held_bytes) == (1, 0, 0)


@pytest.mark.parametrize("leaving", ["normally", "by an error"])
def test_leaving_within_an_outage_leaves_the_port(backend: str, echo: Echo, leaving: str) -> None:
    async def main() -> tuple[str, int]:
        async with FaultyTcpProxy(echo.address) as proxy, proxy.outage():
            if leaving == "by an error":
                raise LookupError(proxy.port)
            return proxy.address

    try:
        address = anyio.run(main, backend=backend)
    except LookupError as error:
        address = ("127.0.0.1", error.args[0])
    with socket.create_server(address):
        pass


def test_the_blocking_twin_leaves_no_thread_and_can_be_read_afterwards(echo: Echo) -> None:
    before = set(threading.enumerate())
    with proxying(echo.address, [TcpFault.lose_answer("close")]) as proxy, connected(proxy.address) as client:
        client.send(b"ask")
        assert client.ending() == (b"", "close")
        assert healthy(proxy)
    assert {thread.name for thread in set(threading.enumerate()) - before} <= {"echo"}
    assert proxy.met == [TcpFault.lose_answer("close")]
    assert proxy.traffic == Traffic(connections=2, bytes_to_upstream=8, bytes_to_client=5)


def test_the_blocking_twin_is_left_by_an_error_as_it_came(echo: Echo) -> None:
    seen: list[BlockingTcpProxy] = []

    def leave() -> None:
        with proxying(echo.address, fault=TcpFault.stall()) as proxy, connected(proxy.address) as client:
            client.send(b"ask")
            proxy.wait_held(3)
            seen.append(proxy)
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        leave()
    assert seen[0].traffic == Traffic(connections=1)


def test_a_fault_that_says_how_to_cut_must_say_where() -> None:
    with pytest.raises(ValueError, match="give the direction of the cut"):
        TcpFault(after_bytes=3)
    with pytest.raises(ValueError, match="give the direction of the cut"):
        TcpFault.stall().leaving_open("client")


@pytest.mark.parametrize("name", ["latency_to_upstream_s", "latency_to_client_s", "after_bytes"])
def test_a_negative_number_is_refused(name: str) -> None:
    values: dict[str, int] = {name: -1}
    with pytest.raises(ValueError, match=f"{name} is -1; it must be 0 or more"):
        TcpFault(cut="to_client", **values)  # type: ignore[arg-type]
