"""A destination for the checks over HTTP: say what a request holds, and what an answer looks like."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Protocol

import anyio

from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.conformance.scripted import Scripted
from asyncsink_testing.destination import Received
from asyncsink_testing.faults import Fault, Step
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, ReactionRule

EntriesOf = Callable[[HttpRequest], Sequence[Any]]
Lost = Callable[[HttpRequest], None]
"""Is told of a request whose answer went down with its connection, which another request ended."""


class ReactingServer(Protocol):
    """A server that asks a rule about each request and does as it says; it listens while it is entered."""

    @property
    def url(self) -> str: ...

    @property
    def in_flight(self) -> int: ...

    @property
    def open_connections(self) -> int: ...

    async def __aenter__(self) -> Any: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any: ...


MakeServer = Callable[[ReactionRule, Lost], ReactingServer]

_TOO_MANY_REQUESTS = Reaction.refuse(429)
_UNAVAILABLE = Reaction.refuse(503)
_BAD_REQUEST = Reaction.refuse(400)
_UNAUTHORIZED = Reaction.refuse(401)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswers:
    """How one HTTP API says what became of a request; each refusal as a :class:`Reaction`.

    :param stored: everything is stored; asked once for each request that is, whatever then becomes of the answer, so
        that it may hand the request on to a service that stores it
    :param throttled: too much at once; a Retry-After is added where the script asks for one
    :param refused: the service is unavailable
    :param rejected: the request is refused for what it holds; None if the API never does that
    :param fatal: no retry can mend it
    :param partly: the answer to a request some of whose entries failed: their faults by index, each of
        ``PARTLY_THROTTLED``, ``PARTLY_FAILED`` and ``POISONED``; None if the API refuses requests whole
    :param tells_poison: whether `partly` tells entries that are refused for what they hold as well; else the request
        that holds one is refused whole
    :param aside: the answer to a request that brings no entries, such as one for a description, and None to one that
        does. What is answered so meets no fault, is not counted and stands in no list
    :param refusal: what the API finds wrong with a request by its own rules, before any fault; None if nothing
    :param overload: the entries for which the API has no capacity, asked once for each request that would be stored;
        needs `partly`
    """

    stored: Callable[[HttpRequest], Reaction] = lambda request: Reaction.OK
    throttled: Reaction = _TOO_MANY_REQUESTS
    refused: Reaction = _UNAVAILABLE
    rejected: Reaction | None = _BAD_REQUEST
    fatal: Reaction = _UNAUTHORIZED
    partly: Callable[[HttpRequest, Mapping[int, Fault]], Reaction] | None = None
    tells_poison: bool = True
    aside: Callable[[HttpRequest], Reaction | None] = lambda request: None
    refusal: Callable[[HttpRequest], Reaction | None] = lambda request: None
    overload: Callable[[HttpRequest], Mapping[int, Fault]] = lambda request: {}


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A request as a script of faults sees it."""

    entries: tuple[Any, ...]
    started_s: float
    scope: None = None


class HttpDestination(Scripted):
    """A :class:`~asyncsink_testing.Destination` that speaks HTTP on loopback, on real sockets.

    ``ANSWER_CUT`` breaks off in the headers and, the next time, before the last byte of the body, if there is one.

    :param entries_of: the payloads in a request, in order
    :param answers: what the API answers
    :param id_of: what tells a repeated request, if the connector sends such a thing
    :param received: the payloads in the service that `answers.stored` hands requests on to, if there is one
    :param server: another server than the kit's own, such as one of HTTP/2
    """

    def __init__(
        self,
        entries_of: EntriesOf,
        answers: HttpAnswers | None = None,
        id_of: Callable[[HttpRequest], str | None] = lambda request: request.headers.get("idempotency-key"),
        received: Callable[[], Awaitable[Sequence[Any]]] | None = None,
        server: MakeServer = lambda react, lost: FaultyHttpServer(react),
    ) -> None:
        self._entries_of, self._answers, self._id_of = entries_of, answers or HttpAnswers(), id_of
        super().__init__(by_index=self._answers.partly is not None and self._answers.tells_poison)
        self._received = received
        self._server = server(self._react, self._lose_answer)
        self._cuts = self._peak_in_flight = 0
        self.requests: list[SeenRequest] = []
        self._seen: dict[int, int] = {}

    @classmethod
    @asynccontextmanager
    async def opened(
        cls,
        entries_of: EntriesOf,
        answers: HttpAnswers | None = None,
        id_of: Callable[[HttpRequest], str | None] = lambda request: request.headers.get("idempotency-key"),
        received: Callable[[], Awaitable[Sequence[Any]]] | None = None,
        server: MakeServer = lambda react, lost: FaultyHttpServer(react),
    ) -> AsyncIterator[HttpDestination]:
        """One whose server listens until this is left."""
        destination = cls(entries_of, answers, id_of, received, server)
        async with destination._server:
            yield destination

    @property
    def endpoint(self) -> str:
        """``http://host:port``."""
        return self._server.url

    @property
    def supported(self) -> frozenset[Fault]:
        missing: set[Fault] = set()
        if self._answers.partly is None:
            missing |= {fault for fault in Fault if fault.by_index}
        if not self._answers.tells_poison:
            missing.add(Fault.POISONED)
        if self._answers.rejected is None:
            missing.add(Fault.REJECTED)
        return frozenset(set(Fault) - missing)

    @property
    def peak_in_flight(self) -> int:
        return self._peak_in_flight

    @property
    def open_connections(self) -> int:
        return self._server.open_connections

    async def received(self) -> Sequence[Received]:
        if self._received is not None:
            return [Received(payload, "") for payload in await self._received()]
        return [
            Received(request.payloads[index], request.id or "", request=request.number)
            for request in self.requests
            for index in sorted(request.stored)
        ]

    def _react(self, request: HttpRequest) -> Reaction:
        aside = self._answers.aside(request)
        if aside is not None:
            return aside
        # Not the server's own peak, in which those that were answered aside have their part.
        self._peak_in_flight = max(self._peak_in_flight, self._server.in_flight)
        entries = tuple(self._entries_of(request))
        now_s = anyio.current_time()
        refused = self._answers.refusal(request)
        if refused is not None:
            self._see(request, entries, Fault.REJECTED, frozenset(), now_s)
            return refused
        arrival: Any = _Arrival(entries, now_s)
        step = self.next_step(arrival)
        failed = self._failed(step, len(entries))
        if step.fault not in _STORES_NOTHING:
            failed = {**self._answers.overload(request), **failed}
        reaction = self._reaction(step, failed, request)
        stored = frozenset(set(range(len(entries))) - failed.keys()) if reaction.stored else frozenset()
        self._see(request, entries, step.fault, stored, now_s)
        return reaction.after(step.latency_s) if step.latency_s else reaction

    def _see(
        self, request: HttpRequest, entries: tuple[Any, ...], fault: Fault, stored: frozenset[int], now_s: float
    ) -> None:
        number = self._seen[request.number] = len(self.requests)
        self.requests.append(SeenRequest(number, entries, fault, stored, now_s, self._id_of(request)))

    def _lose_answer(self, request: HttpRequest) -> None:
        """Note what became of a request on a connection that several share."""
        number = self._seen.get(request.number)
        if number is not None and self.requests[number].fault is Fault.OK:
            self.requests[number] = replace(self.requests[number], fault=Fault.ANSWER_LOST)

    def _failed(self, step: Step, count: int) -> dict[int, Fault]:
        """What each entry meets that is not stored though its request is answered."""
        if not step.fault.by_index:
            return {}
        kinds = [step.fault]
        if step.fault is Fault.PARTLY_MIXED:
            kinds = [Fault.PARTLY_THROTTLED, Fault.PARTLY_FAILED]
        return {index: kinds[at % len(kinds)] for at, index in enumerate(step.affected(count))}

    def _reaction(self, step: Step, failed: Mapping[int, Fault], request: HttpRequest) -> Reaction:
        answers = self._answers
        if step.fault.by_index:
            return self._stored(request, failed, step.fault)
        if step.fault is Fault.THROTTLED:
            return _asking(answers.throttled, step.retry_after_s)
        if step.fault is Fault.REFUSED:
            return _asking(answers.refused, step.retry_after_s)
        if step.fault is Fault.REJECTED:
            if answers.rejected is None:
                raise ValueError("this API refuses no request for what it holds")
            return answers.rejected
        if step.fault is Fault.FATAL:
            return answers.fatal
        lost = _ON_THE_WIRE.get(step.fault)
        if lost is None or not lost.stored:
            return lost or self._stored(request, failed, step.fault)
        answer = self._stored(request, failed, step.fault)
        answered_bytes = lost.answered_bytes
        if step.fault is Fault.ANSWER_CUT:
            self._cuts += 1
            if (answer.body or answer.later) and self._cuts % 2 == 0:
                answered_bytes = -1  # all but the last byte, so that status and headers tell of nothing wrong
        return replace(answer, answered_bytes=answered_bytes, ending=lost.ending, held=lost.held)

    def _stored(self, request: HttpRequest, failed: Mapping[int, Fault], fault: Fault) -> Reaction:
        """The answer once all that has not failed is stored."""
        partly = self._answers.partly
        if not failed and not fault.by_index:
            return self._answers.stored(request)
        if partly is None:
            raise ValueError(f"this API answers for no single entry, so it cannot make {fault.value!r}")
        return partly(request, failed)


def _asking(reaction: Reaction, retry_after_s: float | None) -> Reaction:
    if retry_after_s is None:
        return reaction
    headers = {**reaction.headers, "Retry-After": f"{retry_after_s:g}"}
    return Reaction(status=reaction.status, headers=headers, body=reaction.body, stored=False)


_ON_THE_WIRE = {
    Fault.ANSWER_LOST: Reaction.drop_after_storing(),
    Fault.ANSWER_CUT: Reaction.partial_answer(),
    Fault.DISCONNECTED: Reaction.drop_before_storing(),
    Fault.HANGING: Reaction.hang(),
    Fault.HANGING_STORED: Reaction.hang(stored=True),
}
"""What the connection does, whatever API is spoken over it."""

_STORES_NOTHING = frozenset(
    {Fault.THROTTLED, Fault.REFUSED, Fault.REJECTED, Fault.FATAL, Fault.DISCONNECTED, Fault.HANGING}
)
