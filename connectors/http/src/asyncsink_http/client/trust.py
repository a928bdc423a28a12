"""Whom connections trust."""

from __future__ import annotations

import ssl

import anyio
import anyio.to_thread

from asyncsink_http.client.tls import ssl_context
from asyncsink_http.options import HttpOptions


class Trust:
    """One context of TLS for all connections: each of its own would cost 10 ms, and a copy of all authorities."""

    def __init__(self, options: HttpOptions) -> None:
        self._options = options
        # Where there is no TLS there is nobody to trust, and a context that trusts nobody costs nothing.
        self._of_nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context: ssl.SSLContext | None = None
        self._lock = anyio.Lock()

    async def context_for(self, url: str) -> ssl.SSLContext:
        """The context of connections for `url`.

        :raises ConfigurationError: a file that the options name cannot be used
        """
        if not url.lower().startswith("https:"):
            return self._of_nobody
        if self._context is not None:
            return self._context
        return await self._load()

    async def _load(self) -> ssl.SSLContext:
        async with self._lock:
            if self._context is None:
                self._context = await anyio.to_thread.run_sync(ssl_context, self._options)
            return self._context
