"""What the checks ask of a destination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from asyncsink_testing.destination import Received
from asyncsink_testing.faults import Fault, Step


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One arrival, as the destination saw it.

    :param number: among all arrivals, from 0
    :param payloads: its entries, in order
    :param fault: what it met
    :param stored: the indices of the entries that were stored
    :param started_s: when it arrived, on a clock of the destination's own
    :param id: what the connector sends so that a repetition can be told, if it sends anything
    :param batch_sizes: the entries of each batch, where the service takes several in a request, as one for each of its
        partitions
    """

    number: int
    payloads: tuple[Any, ...]
    fault: Fault
    stored: frozenset[int]
    started_s: float
    id: str | None = None
    batch_sizes: tuple[int, ...] = ()

    @property
    def batches(self) -> tuple[int, ...]:
        """The entries of each batch; a request is one, unless the service takes several in a request."""
        return self.batch_sizes or (len(self.payloads),)

    def __str__(self) -> str:
        return f"request {self.number} ({len(self.payloads)} entries, {self.fault.value})"


class Destination(Protocol):
    """A model, a server on loopback or a real service, whose faults the checks ask for.

    It belongs to one check: whoever enters its context manager gets one that holds nothing. One that has more to tell
    than its endpoint, such as a topic of its own, has ``names: Mapping[str, str]`` as well. One whose service has
    partitions, of each of which a batch is under way at once, has ``partitions: int``, and ``servers: int`` if these
    take one request at a time. One that can have commits put off has ``postpone(times: int) -> None``: each commit of
    what is prepared by then has to be repeated so often.
    """

    @property
    def endpoint(self) -> str:
        """What takes the place of ``{endpoint}`` in the options of the sink."""
        ...

    @property
    def supported(self) -> frozenset[Fault]:
        """The faults that it can make. What it cannot make does not count as passed."""
        ...

    @property
    def requests(self) -> Sequence[SeenRequest] | None:
        """Every arrival, in order; None where single requests cannot be seen."""
        ...

    @property
    def peak_in_flight(self) -> int | None:
        """The most requests that were under way at once; None where that cannot be seen."""
        ...

    @property
    def open_connections(self) -> int | None:
        """Connections that clients hold open now; None where that cannot be seen."""
        ...

    def script(self, steps: Iterable[Step | Fault], then: Step | Fault = Fault.OK) -> None:
        """Meet the next requests with these steps, and those after them with `then`."""
        ...

    def poison(self, is_poison: Callable[[Any], bool]) -> None:
        """Reject entries whose payload is poison, whatever else happens; by index if the service does so."""
        ...

    async def received(self) -> Sequence[Received]:
        """All that stands in the destination now, in its order."""
        ...
