"""What adds credentials to requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.requests.request import HttpRequest

Send = Callable[[HttpRequest], Awaitable[HttpAnswer]]
"""Sends a request as it is and returns its answer; raises RequestError if there is none."""


class Authorizer(Protocol):
    """Sends requests as somebody."""

    async def exchange(self, request: HttpRequest, send: Send) -> HttpAnswer:
        """Send `request` with credentials; more than once if the server asks for others.

        :raises RequestError: there was no answer, or there are no credentials
        """
        ...
