"""The client of a sink: who sends, over what carries it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import Self

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.exchange import HttpExchange, response_callback_of
from asyncsink_http.auth.make import authorizer_of
from asyncsink_http.client.make import transport_of
from asyncsink_http.client.redirects import send_following
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import HttpRequest


class HttpClient:
    """Sends requests with credentials; an async context manager that closes all connections on leaving.

    :param options: resolved ones
    :raises ConfigurationError: what the user brings does not load
    """

    def __init__(self, options: HttpOptions) -> None:
        self.redaction = Redaction(options)
        """Hides what this client knows to be secret."""
        self.in_flight = 0
        """Requests that have not been answered yet."""
        self._callback = response_callback_of(options, self.redaction)
        self._transport = transport_of(options, self.redaction)
        self._follows = options.redirects == "same-origin"
        self._transports = [self._transport]
        if options.oauth2_token_url is not None or options.auth is not None:
            # Who hands out tokens may not speak HTTP/2, and does not listen on the destination's socket.
            elsewhere = replace(options, http_version="1.1", unix_socket=None)
            self._transports.append(transport_of(elsewhere, self.redaction))
        self._authorizer = authorizer_of(options, self.redaction, self._transports[-1].send)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for transport in self._transports:
                await stack.enter_async_context(transport)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request and read its answer.

        :raises RequestError: there was no complete answer; its code is one of :mod:`asyncsink_http.answers.codes`
        """
        started_s = perf_counter()
        self.in_flight += 1
        try:
            answer = await (send_following(request, self._send) if self._follows else self._send(request))
        finally:
            self.in_flight -= 1
        if self._callback is not None:
            self._callback(HttpExchange(request, answer, perf_counter() - started_s))
        return answer

    async def _send(self, request: HttpRequest) -> HttpAnswer:
        return await self._authorizer.exchange(request, self._transport.send)
