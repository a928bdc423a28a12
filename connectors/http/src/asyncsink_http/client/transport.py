"""What carries requests to the server."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.requests.request import HttpRequest


class Transport(Protocol):
    """Sends requests, each as it is; an async context manager that closes all connections on leaving.

    Nothing is sent again, redirects are not followed, and cookies are not kept. There is no deadline beside the one
    for connecting: whoever calls :meth:`send` has it.
    """

    @property
    def connections(self) -> int:
        """Connections that exist now, free and busy."""
        ...

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request and read its answer.

        :raises RequestError: there was no complete answer; its code is one of :mod:`asyncsink_http.answers.codes`
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
