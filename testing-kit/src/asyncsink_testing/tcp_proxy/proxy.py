"""The proxy: accepts, connects to the upstream, and lets a fault be switched on, scripted and taken away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self

import anyio

from asyncsink_testing.sockets import TaskOwner, accept
from asyncsink_testing.tcp_proxy.endpoint import Address, Endpoint, bind, resolve
from asyncsink_testing.tcp_proxy.fault import Ending, Side, TcpFault
from asyncsink_testing.tcp_proxy.link import Cut, Link
from asyncsink_testing.tcp_proxy.plan import FaultPlan
from asyncsink_testing.tcp_proxy.traffic import Traffic, TrafficMeter

_BACKLOG = 1024


class FaultyTcpProxy(TaskOwner):
    """A TCP proxy on loopback before a real service, whose connections misbehave by script or as they are told.

    An async context manager, under asyncio and trio; one task enters and leaves it, and leaving closes everything at
    once. The counters may be read from any thread, and after the proxy is closed.

    A script gives one fault to each exchange, over all connections, in the order in which they begin. An exchange
    begins with the first bytes that a client sends on a connection, or sends after an answer has begun; so a protocol
    that pipelines has longer ones. A refusal in the script waits for the next new connection, and what follows it
    waits too. Exchanges beyond the script are under the standing fault. An upstream that does not accept a connection
    has the client's reset, and stands in :attr:`failures`.

    :param upstream: host and port of the service; the host is resolved once, on entering
    :param script: faults for the first exchanges
    :param fault: the standing fault
    :param port: 0 for a free one
    """

    def __init__(
        self,
        upstream: tuple[str, int],
        script: Iterable[TcpFault] = (),
        *,
        fault: TcpFault = TcpFault.NONE,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.failures: list[str] = []
        """Why the upstream could not be reached, once for each connection."""
        self._upstream = upstream
        self._upstream_addresses: list[Address] = []
        self._address = (host, port)
        self._plan = FaultPlan(script, fault)
        self._meter = TrafficMeter()
        self._links: set[Link] = set()
        self._accepting: anyio.CancelScope | None = None
        self._accepted_last: anyio.Event

    @property
    def host(self) -> str:
        return self._address[0]

    @property
    def port(self) -> int:
        """The port that the proxy listens on; fixed once it is entered, through outages too."""
        return self._address[1]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, for a client to connect to."""
        return self._address

    @property
    def traffic(self) -> Traffic:
        """Connections and bytes up to now."""
        return self._meter.now

    @property
    def fault(self) -> TcpFault:
        """The standing fault; :meth:`switch` changes it."""
        return self._plan.standing

    @property
    def met(self) -> list[TcpFault]:
        """The faults of the script that have come into force, in order."""
        return list(self._plan.met)

    def script(self, *faults: TcpFault) -> None:
        """Add faults to the end of the script."""
        self._plan.script.extend(faults)

    def switch(self, fault: TcpFault) -> None:
        """Make this the standing fault, at once and on open connections too; :attr:`TcpFault.NONE` ends it.

        Scripted exchanges go on as they began, and what is held stays held until :meth:`release`. A cut counts the
        bytes of each connection from now, over all its exchanges.
        """
        self._plan.standing = fault
        for link in self._links:
            link.switch()

    def release(self) -> None:
        """End every stall: what is held goes on, and the standing fault holds nothing more.

        A stall that is still in the script is yet to come.
        """
        self._plan.release()

    async def cut(self, ending: Ending = "reset", *, left_open: Side | None = None) -> None:
        """End every open connection; return when it is done. What is held is lost.

        :param left_open: the side that stays open and silent, until its peer closes it or another cut ends it
        """
        links = list(self._links)
        for link in links:
            link.cut(Cut(ending, left_open))
        await self._meter.wait_until(lambda: not any(link.cutting for link in links))

    @asynccontextmanager
    async def outage(self, ending: Ending | None = "reset") -> AsyncIterator[None]:
        """Refuse connections within, as if nobody listened, and listen at the same port again afterwards.

        :param ending: how the open connections end; None to let them live
        :raises RuntimeError: there is an outage already
        """
        await self._stop_listening()
        try:
            if ending is not None:
                await self.cut(ending)
            yield
        finally:
            self._listen()

    async def wait_connections(self, count: int) -> None:
        """Return when `count` connections have been accepted since the proxy was entered."""
        await self._meter.wait_until(lambda: self.traffic.connections >= count)

    async def wait_idle(self) -> None:
        """Return when no connection is open."""
        await self._meter.wait_until(lambda: not self.traffic.open)

    async def wait_held(self, count: int) -> None:
        """Return when `count` bytes or more are held at once."""
        await self._meter.wait_until(lambda: self.traffic.held_bytes >= count)

    async def __aenter__(self) -> Self:
        self._plan.start()
        self._meter.start()
        self._upstream_addresses = await resolve(*self._upstream)
        async with AsyncExitStack() as stack:
            self._listener = bind(*self._address)
            stack.callback(lambda: self._listener.close())
            self._address = (self.host, self._listener.getsockname()[1])
            self._group = await stack.enter_async_context(anyio.create_task_group())
            self._listen()
            self._stack = stack.pop_all()
        return self

    def _listen(self) -> None:
        self._listener.listen(_BACKLOG)
        self._accepting, self._accepted_last = anyio.CancelScope(), anyio.Event()
        self._group.start_soon(self._accept, self._accepting, self._accepted_last)

    async def _stop_listening(self) -> None:
        if self._accepting is None:
            raise RuntimeError(f"{self.host}:{self.port} is in an outage already; leave it before the next")
        self._accepting.cancel()
        self._accepting = None
        with anyio.CancelScope(shield=True):
            await self._accepted_last.wait()
        self._listener.close()
        # The port stays taken: else a client's own socket might be given it, and even connect to itself.
        self._listener = bind(*self._address)

    async def _accept(self, scope: anyio.CancelScope, ended: anyio.Event) -> None:
        try:
            with scope:
                while True:
                    self._admit(Endpoint(await accept(self._listener)))
        finally:
            ended.set()

    def _admit(self, client: Endpoint) -> None:
        if self._plan.refuses_connection():
            self._meter.add(connections=1, refused=1)
            client.reset()
            return
        link = Link(client, self._plan, self._meter)
        self._links.add(link)
        self._meter.add(connections=1, open=1)
        self._group.start_soon(self._serve, link)

    async def _serve(self, link: Link) -> None:
        try:
            await link.serve(self._upstream_addresses)
        finally:
            if link.failure is not None:
                self.failures.append("{}:{}: {}".format(*self._upstream, link.failure))
            self._links.discard(link)
            self._meter.add(open=-1)
