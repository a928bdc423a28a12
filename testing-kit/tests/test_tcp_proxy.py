"""Every fault of the proxy, as a bare socket before it and a bare echo server behind it see it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Literal

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from asyncsink_testing.tcp_proxy import BlockingTcpProxy, FaultyTcpProxy, TcpFault, Traffic, proxying
from asyncsink_testing.tcp_proxy.fault import Direction, Ending, Side

HOUR_S = 3600.0


def reset(raw: socket.socket) -> None:
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


class Peer:
    """A blocking socket that says how its connection ended."""

    def __init__(self, raw: socket.socket) -> None:
        raw.settimeout(10)
        self.socket = raw

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self, count: int) -> bytes:
        """So many bytes, or fewer if the connection ends by a FIN."""
        data = b""
        while len(data) < count and (part := self.socket.recv(count - len(data))):
            data += part
        return data

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        return self.read(len(data))

    def ending(self) -> tuple[bytes, Ending]:
        """What comes until the connection ends, and how it ends."""
        data = b""
        try:
            while part := self.socket.recv(65536):
                data += part
        except ConnectionResetError:
            return data, "reset"
        return data, "close"

    def hears_nothing(self) -> bool:
        """Whether nothing has come, not even an end."""
        self.socket.setblocking(False)
        try:
            self.socket.recv(1)
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(10)
        return False

    def close(self) -> None:
        self.socket.close()


class Echo:
    """A service that sends back what it receives, in threads of its own; a test takes its connections in order."""

    def __init__(self, greeting: bytes = b"") -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        self.greeting = greeting
        self.received: SimpleQueue[bytes] = SimpleQueue()
        self.endings: SimpleQueue[Ending] = SimpleQueue()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return  # closed by the test's end
            self._threads.append(threading.Thread(target=self._serve, args=(raw,), daemon=True))
            self._threads[-1].start()

    def _serve(self, raw: socket.socket) -> None:
        with raw:
            try:
                self._answer(raw)
            except OSError:
                self.endings.put("reset")
            else:
                self.endings.put("close")

    def _answer(self, raw: socket.socket) -> None:
        raw.sendall(self.greeting)
        while data := raw.recv(65536):
            self.received.put(data)
            if data == b"reset yourself":
                reset(raw)
            if data in (b"reset yourself", b"close yourself"):
                return
            raw.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), "the proxy left a connection to the upstream open"


@contextmanager
def upstream(greeting: bytes = b"") -> Iterator[Echo]:
    """An echo that every thread of has ended afterwards; enter it before the proxy."""
    service = Echo(greeting)
    try:
        yield service
    finally:
        service.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    with upstream() as service:
        yield service


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@contextmanager
def running(backend: str, address: tuple[str, int], *script: TcpFault) -> Iterator[BlockingTcpProxy]:
    with start_blocking_portal(backend) as portal:
        proxy = FaultyTcpProxy(address, script)
        with portal.wrap_async_context_manager(proxy):
            yield BlockingTcpProxy(proxy, portal)


@pytest.fixture
def proxy(backend: str, echo: Echo) -> Iterator[BlockingTcpProxy]:
    with running(backend, echo.address) as proxy:
        yield proxy


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[Peer]:
    peer = Peer(socket.create_connection(address, timeout=10))
    try:
        yield peer
    finally:
        peer.close()


@pytest.fixture
def client(proxy: BlockingTcpProxy) -> Iterator[Peer]:
    with connected(proxy.address) as peer:
        proxy.wait_connections(1)  # the kernel accepts before the proxy does
        yield peer


def is_reset(address: tuple[str, int]) -> bool:
    """Whether a new connection is reset at once; the kernel may tell of that in connecting already."""
    try:
        with connected(address) as peer:
            return peer.ending() == (b"", "reset")
    except ConnectionResetError:
        return True


def healthy(proxy: BlockingTcpProxy) -> bool:
    """Whether a new connection works."""
    with connected(proxy.address) as peer:
        return peer.ask(b"fresh") == b"fresh"


# Without a fault


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
            with connected(proxy.address) as client:
                assert client.ending() == (b"", "reset")
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


# Latency


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


# Stalls


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


# Cuts


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_cut_at_once_ends_every_connection_on_both_sides(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer, ending: Ending
) -> None:
    with connected(proxy.address) as other:
        assert (client.ask(b"1"), other.ask(b"2")) == (b"1", b"2")
        proxy.cut(ending)
        assert (client.ending(), other.ending()) == ((b"", ending), (b"", ending))
    assert {echo.endings.get(timeout=10), echo.endings.get(timeout=10)} == {ending}
    proxy.wait_idle()
    assert healthy(proxy)


def test_a_cut_loses_what_is_held(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.switch(TcpFault.stall())
    client.send(b"ask")
    proxy.wait_held(3)
    proxy.cut("close")
    assert client.ending() == (b"", "close")
    proxy.wait_idle()
    assert proxy.traffic == Traffic(connections=1)


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_lost_request_never_reaches_the_upstream(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer, ending: Ending
) -> None:
    proxy.script(TcpFault.lose_request(ending))
    client.send(b"ask")
    assert client.ending() == (b"", ending)
    assert echo.endings.get(timeout=10) == ending
    assert echo.received.empty()
    assert healthy(proxy)


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_lost_answer_belongs_to_a_request_that_was_stored(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer, ending: Ending
) -> None:
    assert client.ask(b"before") == b"before"
    proxy.script(TcpFault.lose_answer(ending))
    client.send(b"ask")
    assert client.ending() == (b"", ending)
    assert [echo.received.get(timeout=10) for _ in range(2)] == [b"before", b"ask"]
    assert echo.endings.get(timeout=10) == ending
    assert healthy(proxy)


def test_what_the_upstream_says_unasked_is_no_answer(backend: str) -> None:
    with upstream(b"hello") as echo, running(backend, echo.address) as proxy:
        proxy.switch(TcpFault.lose_answer("close"))
        with connected(proxy.address) as client:
            assert client.read(5) == b"hello"
            client.send(b"ask")
            assert client.ending() == (b"", "close")
        assert echo.received.get(timeout=10) == b"ask"


def test_a_cut_switched_on_spares_what_was_asked_before(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.switch(TcpFault.stall("to_upstream"))
    client.send(b"before")
    proxy.wait_held(6)
    proxy.switch(TcpFault.lose_answer("close"))
    proxy.release()
    assert client.read(6) == b"before"
    client.send(b"after")
    assert client.ending() == (b"", "close")


def test_a_cut_after_some_bytes_of_a_request_passes_just_these(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer
) -> None:
    proxy.script(TcpFault.cut_after(4, "to_upstream", "close"))
    client.send(b"request")
    assert client.ending()[1] == "close"
    assert echo.received.get(timeout=10) == b"requ"
    proxy.wait_idle()
    assert proxy.traffic.bytes_to_upstream == 4


def test_a_cut_after_some_bytes_of_an_answer_passes_just_these(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.cut_after(4, "to_client", "close"))
    client.send(b"answer")
    assert client.ending() == (b"answ", "close")
    proxy.wait_idle()
    assert (proxy.traffic.bytes_to_upstream, proxy.traffic.bytes_to_client) == (6, 4)


def test_a_cut_after_some_bytes_can_be_a_reset(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.cut_after(4, "to_client"))
    client.send(b"answer")
    assert client.ending()[1] == "reset"
    proxy.wait_idle()
    assert proxy.traffic.bytes_to_client == 4


def test_a_cut_switched_on_counts_over_all_exchanges_from_then(proxy: BlockingTcpProxy, client: Peer) -> None:
    assert client.ask(b"not counted") == b"not counted"
    proxy.switch(TcpFault.cut_after(5, "to_client", "close"))
    assert client.ask(b"123") == b"123"
    client.send(b"456")
    assert client.ending() == (b"45", "close")
    with connected(proxy.address) as other:
        assert other.ask(b"1234") == b"1234"


# Half-open


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_client_is_left_open_and_silent(echo: Echo, proxy: BlockingTcpProxy, client: Peer, ending: Ending) -> None:
    assert client.ask(b"ask") == b"ask"
    proxy.cut(ending, left_open="client")
    assert echo.endings.get(timeout=10) == ending
    client.send(b"anyone there?")
    assert healthy(proxy)
    assert client.hears_nothing()
    assert [echo.received.get(timeout=10) for _ in range(2)] == [b"ask", b"fresh"]
    client.close()
    proxy.wait_idle()


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_an_upstream_is_left_open_and_silent(echo: Echo, proxy: BlockingTcpProxy, client: Peer, ending: Ending) -> None:
    assert client.ask(b"ask") == b"ask"
    proxy.cut(ending, left_open="upstream")
    assert client.ending() == (b"", ending)
    assert echo.endings.empty()
    assert proxy.traffic.open == 1
    proxy.cut()
    assert echo.endings.get(timeout=10) == "reset"
    proxy.wait_idle()


@pytest.mark.parametrize(("side", "other"), [("client", "upstream"), ("upstream", "client")])
def test_a_lost_answer_can_leave_the_connection_half_open(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer, side: Side, other: Side
) -> None:
    proxy.script(TcpFault.lose_answer().leaving_open(side))
    client.send(b"ask")
    assert echo.received.get(timeout=10) == b"ask"
    if other == "upstream":
        assert echo.endings.get(timeout=10) == "reset"
        assert client.hears_nothing()
    else:
        assert client.ending() == (b"", "reset")
        assert echo.endings.empty()
    assert proxy.traffic.open == 1


# Scripts


def test_a_script_gives_one_fault_to_each_exchange_over_all_connections(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer
) -> None:
    script = [TcpFault.NONE, TcpFault.lose_answer("close"), TcpFault.lose_request(), TcpFault.latency(0.001)]
    proxy.script(*script)
    assert client.ask(b"1") == b"1"
    client.send(b"2")
    assert client.ending() == (b"", "close")
    with connected(proxy.address) as second:
        second.send(b"3")
        assert second.ending() == (b"", "reset")
    assert proxy.met == script[:3]
    with connected(proxy.address) as third:
        assert (third.ask(b"4"), third.ask(b"5")) == (b"4", b"5")
    assert proxy.met == script
    assert [echo.received.get(timeout=10) for _ in range(4)] == [b"1", b"2", b"4", b"5"]


def test_a_request_in_pieces_is_one_exchange(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.stall("to_upstream"), TcpFault.lose_request())
    client.send(b"first half,")
    proxy.wait_held(11)
    client.send(b"second half")
    proxy.wait_held(22)
    proxy.release()
    assert client.read(22) == b"first half,second half"
    assert len(proxy.met) == 1


def test_a_switch_leaves_a_scripted_exchange_alone(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.stall("to_client"))
    client.send(b"scripted")
    proxy.wait_held(8)
    proxy.switch(TcpFault.lose_request("close"))
    proxy.release()
    assert client.read(8) == b"scripted"
    client.send(b"standing")
    assert client.ending() == (b"", "close")


# Refusals and outages


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


# Leaving


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
    before = {thread for thread in threading.enumerate() if "AnyIO" in thread.name or "asyncio" in thread.name}
    with proxying(echo.address, [TcpFault.lose_answer("close")]) as proxy, connected(proxy.address) as client:
        client.send(b"ask")
        assert client.ending() == (b"", "close")
        assert healthy(proxy)
    after = {thread for thread in threading.enumerate() if "AnyIO" in thread.name or "asyncio" in thread.name}
    assert after <= before
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
