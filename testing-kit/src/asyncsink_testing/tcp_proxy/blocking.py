"""The proxy for callers that have no event loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from anyio.from_thread import BlockingPortal, start_blocking_portal

from asyncsink_testing.tcp_proxy.fault import Ending, Side, TcpFault
from asyncsink_testing.tcp_proxy.proxy import FaultyTcpProxy
from asyncsink_testing.tcp_proxy.traffic import Traffic


class BlockingTcpProxy:
    """A :class:`FaultyTcpProxy` in a loop and a thread of its own; its methods may be called from any thread.

    Each does what the one of that name does there, and returns when it is done.
    """

    def __init__(self, proxy: FaultyTcpProxy, portal: BlockingPortal) -> None:
        self._proxy = proxy
        self._portal = portal

    @property
    def host(self) -> str:
        return self._proxy.host

    @property
    def port(self) -> int:
        return self._proxy.port

    @property
    def address(self) -> tuple[str, int]:
        return self._proxy.address

    @property
    def traffic(self) -> Traffic:
        return self._proxy.traffic

    @property
    def fault(self) -> TcpFault:
        return self._proxy.fault

    @property
    def met(self) -> list[TcpFault]:
        return self._proxy.met

    @property
    def failures(self) -> list[str]:
        return list(self._proxy.failures)

    def script(self, *faults: TcpFault) -> None:
        self._portal.call(self._proxy.script, *faults)

    def switch(self, fault: TcpFault) -> None:
        self._portal.call(self._proxy.switch, fault)

    def release(self) -> None:
        self._portal.call(self._proxy.release)

    def cut(self, ending: Ending = "reset", *, left_open: Side | None = None) -> None:
        async def cut() -> None:
            await self._proxy.cut(ending, left_open=left_open)

        self._portal.call(cut)

    def outage(self, ending: Ending | None = "reset") -> AbstractContextManager[None]:
        return self._portal.wrap_async_context_manager(self._proxy.outage(ending))

    def wait_connections(self, count: int) -> None:
        self._portal.call(self._proxy.wait_connections, count)

    def wait_idle(self) -> None:
        self._portal.call(self._proxy.wait_idle)

    def wait_held(self, count: int) -> None:
        self._portal.call(self._proxy.wait_held, count)


@contextmanager
def proxying(
    upstream: tuple[str, int],
    script: Iterable[TcpFault] = (),
    *,
    fault: TcpFault = TcpFault.NONE,
    host: str = "127.0.0.1",
    port: int = 0,
) -> Iterator[BlockingTcpProxy]:
    """Run a :class:`FaultyTcpProxy` in an event loop and a thread of its own, for callers that have no loop.

    Its counters may be read at any time; leaving closes everything and ends the thread.
    """
    with start_blocking_portal() as portal:
        proxy = FaultyTcpProxy(upstream, script, fault=fault, host=host, port=port)
        with portal.wrap_async_context_manager(proxy):
            yield BlockingTcpProxy(proxy, portal)
