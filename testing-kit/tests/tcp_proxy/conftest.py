"""An echo, the proxy before it under either event loop, and a client before the proxy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asyncsink_testing.tcp_proxy import BlockingTcpProxy

from .wire import Echo, Peer, connected, running, upstream


@pytest.fixture
def echo() -> Iterator[Echo]:
    with upstream() as service:
        yield service


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def proxy(backend: str, echo: Echo) -> Iterator[BlockingTcpProxy]:
    with running(backend, echo.address) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: BlockingTcpProxy) -> Iterator[Peer]:
    with connected(proxy.address) as peer:
        proxy.wait_connections(1)  # the kernel accepts before the proxy does
        yield peer
