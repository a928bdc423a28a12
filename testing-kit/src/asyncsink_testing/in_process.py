"""The model of a destination as the checks want it: for connectors, such as the kit's own, that can reach an object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.conformance.scripted import Scripted
from asyncsink_testing.destination import FakeDestination, Received
from asyncsink_testing.faults import Fault
from asyncsink_testing.history import RequestEnded


class InProcessDestination(Scripted):
    """A :class:`~asyncsink_testing.Destination` over :class:`FakeDestination`, found by its endpoint.

    A connector's options are strings, so its client looks up ``InProcessDestination.at(endpoint)`` and hands each
    request to ``model.handle(entries, writer=1, scope=None)``, which answers or raises. Between :meth:`connect` and
    :meth:`disconnect` it counts as an open connection.

    :param payload_of: what of an entry stands in the destination
    :param partial: whether it answers for single entries; else it refuses requests whole
    """

    _open: ClassVar[dict[str, InProcessDestination]] = {}
    _numbers: ClassVar[Iterator[int]] = count(1)

    def __init__(self, payload_of: Callable[[Any], Any] = lambda entry: entry, *, partial: bool = True) -> None:
        super().__init__(partial, payload_of)
        self.model = FakeDestination(self)
        self.endpoint = f"in-process-{next(self._numbers)}"
        self.open_connections = 0

    @classmethod
    @contextmanager
    def opened(
        cls, payload_of: Callable[[Any], Any] = lambda entry: entry, *, partial: bool = True
    ) -> Iterator[InProcessDestination]:
        """One that can be found by its endpoint until this is left."""
        destination = cls(payload_of, partial=partial)
        cls._open[destination.endpoint] = destination
        try:
            yield destination
        finally:
            del cls._open[destination.endpoint]

    @classmethod
    def at(cls, endpoint: str) -> InProcessDestination:
        """The one that is open at `endpoint`.

        :raises ConnectionRefusedError: none is, as where a real service is down
        """
        if endpoint not in cls._open:
            raise ConnectionRefusedError(f"nothing listens at {endpoint!r}")
        return cls._open[endpoint]

    def connect(self) -> None:
        """Take note of a client that has come."""
        self.open_connections += 1

    def disconnect(self) -> None:
        """Take note of a client that has gone."""
        self.open_connections -= 1

    @property
    def supported(self) -> frozenset[Fault]:
        return frozenset(fault for fault in Fault if self._by_index or not fault.by_index)

    @property
    def requests(self) -> Sequence[SeenRequest]:
        return [
            SeenRequest(
                number=each.number,
                payloads=tuple(map(self._payload_of, each.entries)),
                fault=each.step.fault,
                stored=each.stored,
                started_s=each.started_s,
                id=each.id,
            )
            for each in self.model.requests
        ]

    @property
    def peak_in_flight(self) -> int:
        return self.model.peak_in_flight

    @property
    def ended(self) -> int:
        """Requests that have ended, answered or not."""
        return len(self.model.history.of(RequestEnded))

    async def received(self) -> Sequence[Received]:
        return [replace(each, payload=self._payload_of(each.payload)) for each in self.model.received]
