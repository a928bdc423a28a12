"""What happened, in order: what a program asked of its writers, and what the destination saw of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from asyncsink import FailureKind

if TYPE_CHECKING:
    from asyncsink import AsyncSinkWriterConfig, WriterStatistics
    from asyncsink_testing.faults import Step


class Ending(Enum):
    """How a request ended, as its sender could see it."""

    OPEN = "open"
    ANSWERED = "answered"
    """With a word for each entry: stored, or failed by index."""
    THROTTLED = "throttled"
    UNKNOWN = "unknown"
    """By an error after which nobody can know what is stored."""
    CUT = "cut"
    """By cancellation: at its deadline, or because the writer was closed."""
    REJECTED = "rejected"
    FATAL = "fatal"


@dataclass(slots=True, eq=False)
class SentRequest:
    """One arrival of a request at the destination.

    :ivar number: of all arrivals at this destination, from 0
    :ivar writer: whose it is
    :ivar entries: in the order in which they were sent
    :ivar stored: the indices of the entries that the destination stored
    :ivar failed: the answer's failures by index
    """

    number: int
    writer: int
    id: str
    attempt: int
    route: Hashable | None
    scope: Hashable | None
    entries: tuple[Any, ...]
    size_in_bytes: int
    started_s: float
    step: Step
    ended_s: float = inf
    ending: Ending = Ending.OPEN
    stored: frozenset[int] = frozenset()
    failed: dict[int, FailureKind] = field(default_factory=dict)
    retry_after_s: float | None = None

    def __str__(self) -> str:
        return (
            f"request {self.number} (id {self.id}, attempt {self.attempt}, writer {self.writer}, route {self.route!r}, "
            f"{len(self.entries)} entries, t={self.started_s:.6g}..{self.ended_s:.6g}, {self.step.fault.value}, "
            f"{self.ending.value})"
        )


@dataclass(slots=True)
class Event:
    """Something that happened at `time_s`, on the history's clock, to the writer of that number.

    Not to be changed, though it is not frozen: a simulation makes some million of them, and freezing doubles the cost.
    """

    time_s: float
    writer: int


@dataclass(slots=True)
class Opened(Event):
    """A writer was entered. `limited` says that its rate limit may hold back what its configuration allows."""

    config: AsyncSinkWriterConfig
    restored: tuple[Any, ...]
    limited: bool


@dataclass(slots=True)
class Offered(Event):
    """A call with these entries began: the destination may see them from now on."""

    entries: tuple[Any, ...]


@dataclass(slots=True)
class Accepted(Event):
    """A call ended and has accepted these of the entries that it offered; `refused` are those that it has not."""

    entries: tuple[Any, ...]
    refused: tuple[Any, ...] = ()


@dataclass(slots=True)
class RequestStarted(Event):
    request: SentRequest


@dataclass(slots=True)
class RequestEnded(Event):
    request: SentRequest


@dataclass(slots=True)
class FlushCalled(Event):
    number: int
    end_of_input: bool


@dataclass(slots=True)
class FlushReturned(Event):
    """A flush ended; `done` unless it was cancelled or raised."""

    number: int
    done: bool


@dataclass(slots=True)
class SnapshotTaken(Event):
    """`statistics` are those that the writer published with it or before."""

    entries: tuple[Any, ...]
    sizes: tuple[int, ...]
    statistics: WriterStatistics


@dataclass(slots=True)
class Quiet(Event):
    """No task had anything to do at this instant: what could have been done has been done."""


@dataclass(slots=True)
class Closing(Event):
    """Leaving or closing the writer began: requests may be cut from now on."""


@dataclass(slots=True)
class Failed(Event):
    """A call said that the writer has failed; `error` is the name of the error's class."""

    error: str = ""


@dataclass(slots=True)
class DeadLettered(Event):
    """The letters of these entries, or of elements that could not become entries, have become durable."""

    entries: tuple[Any, ...]


@dataclass(slots=True)
class Gone(Event):
    """The writer has ended: `left` (everything flushed), or otherwise, so that entries may be in its snapshot only."""

    left: bool


@dataclass(slots=True)
class LimitRegistered(Event):
    """The strategy of that number was told of a request that is being sent."""

    strategy: int
    batch_size: int
    size_in_bytes: int


@dataclass(slots=True)
class LimitCompleted(Event):
    """The strategy of that number was told of a request that has ended; `ignored` says that it learns nothing."""

    strategy: int
    batch_size: int
    size_in_bytes: int
    ignored: bool = False


EventT = TypeVar("EventT", bound=Event)


@dataclass(slots=True)
class History:
    """The events of one destination and of all writers that wrote to it, in order.

    :ivar expected: entries that must be stored in the end, whatever happened to writers
    :ivar writers: how many have connected
    :ivar scope_of: the scope of a route
    :ivar atomic: whether the destination stores a request whole or not at all
    :ivar clock: in seconds; the event loop's own unless a simulation knows better what an instant is
    :ivar waitless: the share of backoffs that a jitter made for the purpose draws as good as 0; from 0 to below 1
    """

    events: list[Event] = field(default_factory=list)
    expected: dict[Any, None] = field(default_factory=dict)
    writers: int = 0
    scope_of: Callable[[Hashable | None], Hashable | None] = field(default=lambda route: route)
    atomic: bool = False
    clock: Callable[[], float] = anyio.current_time
    waitless: float = 0.0

    def add(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[EventT]) -> list[EventT]:
        """The events of one kind, in order."""
        return [event for event in self.events if type(event) is kind]

    @property
    def requests(self) -> list[SentRequest]:
        """Every arrival, in the order of their start."""
        return [event.request for event in self.of(RequestStarted)]
