"""What the kernel would tell of a connection's end otherwise."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import anyio
import pytest

from asyncsink_testing.tcp_proxy.endpoint import Endpoint, PeerResetError

from .wire import Peer, reset


@pytest.fixture
def pair() -> Iterator[tuple[Endpoint, Peer]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = Peer(socket.create_connection(listener.getsockname()))
        raw, _ = listener.accept()
    with Endpoint(raw) as endpoint, closing(peer):
        yield endpoint, peer


def test_closing_with_unread_bytes_loses_nothing_that_was_sent(backend: str, pair: tuple[Endpoint, Peer]) -> None:
    endpoint, peer = pair
    peer.send(b"never read")
    # More than the peer's kernel takes in before it is read, and less than the kernels take in together.
    sent = bytes(400_000)
    anyio.run(endpoint.send_all, sent, backend=backend)
    endpoint.close()
    assert peer.ending() == (sent, "close")


def test_an_end_may_be_repeated(pair: tuple[Endpoint, Peer]) -> None:
    endpoint, peer = pair
    endpoint.close()
    endpoint.close()
    endpoint.reset()
    assert peer.ending() == (b"", "close")


def test_a_reset_that_sending_was_told_of_is_still_one_for_receiving(backend: str, pair: tuple[Endpoint, Peer]) -> None:
    endpoint, peer = pair
    reset(peer.socket)

    async def main() -> None:
        with pytest.raises(PeerResetError):
            await endpoint.send_all(b"anyone there?")
        with pytest.raises(PeerResetError):
            await endpoint.receive()

    anyio.run(main, backend=backend)
