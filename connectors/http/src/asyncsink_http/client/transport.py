"""What carries requests to the server."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol, Self

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.requests.request import HttpRequest

# httpx gives a connection up that has been idle for 5 s: all of them at each micro-batch of a stream that is triggered
# every ten. Longer than Spark keeps a worker without work, shorter than balancers and NAT gateways remember a silent
# connection (240 s and more); one that the server has closed meanwhile is noticed and replaced.
IDLE_S: Final = 120.0

# For saying goodbye, also after a cancellation; whoever does not answer by then is left.
CLOSE_TIMEOUT_S: Final = 2.0


class Transport(Protocol):
    """Sends requests, each as it is; an async context manager that closes all connections on leaving.

    Nothing is sent again, redirects are not followed, and cookies are not kept. There is no deadline beside the one
    for connecting: whoever calls :meth:`send` has it.
    """

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request and read its answer.

        :raises RequestError: there was no complete answer; its code is one of :mod:`asyncsink_http.answers.codes`
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
