"""The proxy ends connections, on both sides or on one, by script and at run time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsink_testing.tcp_proxy import BlockingTcpProxy, TcpFault, Traffic
from asyncsink_testing.tcp_proxy.fault import Ending, Side

from .wire import Echo, Peer, connected, healthy, running, upstream


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_cut_at_once_ends_every_connection_on_both_sides(
    echo: Echo, proxy: BlockingTcpProxy, client: Peer, ending: Ending
) -> None:
    with connected(proxy.address) as other:
        assert (client.ask(b"1"), other.ask(b"2")) == (b"1", b"2")
        proxy.cut(ending)
        assert proxy.traffic.open == 0
        assert (client.ending(), other.ending()) == ((b"", ending), (b"", ending))
    assert {echo.endings.get(timeout=10), echo.endings.get(timeout=10)} == {ending}
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
    proxy.script(replace(TcpFault.stall("to_upstream"), cut="to_client", after_bytes=8, ending="close"))
    client.send(b"scripted, cut")
    proxy.wait_held(13)
    proxy.switch(TcpFault.lose_request())
    proxy.release()
    assert client.ending() == (b"scripted", "close")


def test_a_scripted_exchange_is_followed_by_the_standing_fault(proxy: BlockingTcpProxy, client: Peer) -> None:
    proxy.script(TcpFault.latency(0.001))
    proxy.switch(TcpFault.lose_request("close"))
    assert client.ask(b"scripted") == b"scripted"
    client.send(b"standing")
    assert client.ending() == (b"", "close")
