"""Requests through a client with credentials."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.client import HttpClient


class Sender:
    """Sends bodies to one address."""

    def __init__(self, options: HttpOptions) -> None:
        self._url = options.url
        self.client = HttpClient(options)

    async def send(self, body: bytes = b"[1]") -> HttpAnswer:
        headers = ((b"Content-Type", b"application/json"), (b"Idempotency-Key", b"key of " + body))
        return await self.client.send(HttpRequest("POST", self._url, headers, body, "q/0/0/1", 1, 1))

    async def send_at_once(self, count: int) -> list[int]:
        """The statuses that so many requests in flight together are answered by."""
        statuses: list[int] = []

        async def send() -> None:
            statuses.append((await self.send()).status)

        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(send)
        return statuses


@asynccontextmanager
async def sending(url: str, **options: str) -> AsyncIterator[Sender]:
    """A sender with options as Spark gives them; dots in names are written as ``__``."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    sender = Sender(HttpOptions.from_options({"url": url, **named}).resolved())
    async with sender.client:
        yield sender
