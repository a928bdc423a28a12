"""What the server and the proxies on loopback share: sockets that accept, send or reset, and the end of their tasks."""

from __future__ import annotations

import socket
import struct
from contextlib import AsyncExitStack
from types import TracebackType

import anyio
from anyio.abc import TaskGroup


async def accept(listener: socket.socket) -> socket.socket:
    """The next connection whose client is still there; the listener does not block."""
    while True:
        try:
            raw, _ = listener.accept()
        except BlockingIOError:
            await anyio.wait_readable(listener)
        except ConnectionError:
            continue  # the client was gone before it was accepted
        else:
            return raw


async def send_all(raw: socket.socket, data: bytes) -> None:
    """Send everything.

    :raises OSError: the peer has closed or reset the connection
    """
    view = memoryview(data)
    while view:
        try:
            view = view[raw.send(view) :]
        except BlockingIOError:
            await anyio.wait_writable(raw)


def reset(raw: socket.socket) -> None:
    """Close with an RST: a socket that lingers for 0 s drops what it holds and resets. May be repeated."""
    if raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()


class TaskOwner:
    """An async context manager whose ``__aenter__`` enters a task group, and whose tasks end when it is left.

    :ivar _stack: what ``__aenter__`` has entered, the task group among it
    """

    _group: TaskGroup
    _stack: AsyncExitStack

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        if error is None or isinstance(error, anyio.get_cancelled_exc_class()):
            return await self._stack.__aexit__(kind, error, trace)
        # The caller's own error leaves as it came; through the task group it would become an ExceptionGroup.
        await self._stack.__aexit__(None, None, None)
        return None
