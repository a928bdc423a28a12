"""How a destination misbehaves, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from asyncsink_testing.history import SentRequest


class Fault(Enum):
    """What a destination can do to a request."""

    OK = "ok"
    """Everything is stored and the answer says so."""
    THROTTLED = "throttled"
    """The whole request is refused because of load; nothing is stored. May carry a Retry-After."""
    PARTLY_THROTTLED = "partly-throttled"
    """Some entries are throttled, by index; the others are stored."""
    PARTLY_FAILED = "partly-failed"
    """Some entries failed within the service, by index; the others are stored."""
    PARTLY_MIXED = "partly-mixed"
    """Some entries are throttled and some failed within the service, in turn and by index; the others are stored."""
    REFUSED = "refused"
    """The service says that it is unavailable, and has stored nothing; whoever asks cannot know."""
    ANSWER_LOST = "answer-lost"
    """Everything is stored, then the connection breaks before the answer."""
    ANSWER_CUT = "answer-cut"
    """Everything is stored, then the connection breaks in the middle of the answer."""
    DISCONNECTED = "disconnected"
    """The connection breaks before anything is stored."""
    HANGING = "hanging"
    """Nothing is stored and no answer ever comes."""
    HANGING_STORED = "hanging-stored"
    """Everything is stored and no answer ever comes."""
    POISONED = "poisoned"
    """Some entries are rejected for what they hold, by index; the others are stored."""
    REJECTED = "rejected"
    """The whole request is rejected for what it holds; nothing is stored."""
    FATAL = "fatal"
    """The answer is one that no retry can mend, such as missing permission; nothing is stored."""
    SLOW = "slow"
    """Everything is stored and the answer says so, late: in a script, ``Step(OK, latency_s=SLOW_S)``."""
    RETRY_AFTER = "retry-after"
    """Throttled, with a time to wait: in a script, ``Step(THROTTLED, retry_after_s=RETRY_AFTER_S)``."""

    @property
    def by_index(self) -> bool:
        """Whether the fault concerns some entries and not the request."""
        return self in (Fault.PARTLY_THROTTLED, Fault.PARTLY_FAILED, Fault.PARTLY_MIXED, Fault.POISONED)


OUTCOME_UNKNOWN = frozenset(
    {
        Fault.REFUSED,
        Fault.ANSWER_LOST,
        Fault.ANSWER_CUT,
        Fault.DISCONNECTED,
        Fault.HANGING,
        Fault.HANGING_STORED,
    }
)
"""The faults after which a sender cannot know whether its entries are stored."""

SLOW_S = 0.1
"""Seconds that an answer takes after :attr:`Fault.SLOW`."""

RETRY_AFTER_S = 1.0
"""Seconds that :attr:`Fault.RETRY_AFTER` asks for: HTTP's header knows whole ones only."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the destination does with one request.

    :param fault: the kind of misbehaviour
    :param latency_s: seconds until the answer; a slow destination is one with a large number here
    :param indices: which entries a fault by index concerns; None for all. Indices outside the request are left out
    :param retry_after_s: what the answer asks for, if it asks
    :param uncut_s: seconds for which the connector cannot be cancelled while it waits, as clients that must not lose
        their connection's state do; an answer may so come after the deadline
    """

    fault: Fault = Fault.OK
    latency_s: float = 0.0
    indices: frozenset[int] | None = None
    retry_after_s: float | None = None
    uncut_s: float = 0.0

    @classmethod
    def partly(cls, fault: Fault, *indices: int, latency_s: float = 0.0, retry_after_s: float | None = None) -> Step:
        """A fault by index at these indices."""
        return cls(fault, latency_s, frozenset(indices), retry_after_s)

    def affected(self, count: int) -> list[int]:
        """The indices that a fault by index concerns in a request of `count` entries, in order."""
        return [index for index in range(count) if self.indices is None or index in self.indices]


class FaultSource(Protocol):
    """Decides what happens to each request, in the order of their start."""

    def next_step(self, request: SentRequest) -> Step: ...


class Script:
    """Steps in a given order; after the last of them `then` for ever."""

    def __init__(self, steps: Iterable[Step | Fault] = (), then: Step | Fault = Fault.OK) -> None:
        self._steps = [_step(each) for each in steps][::-1]
        self._then = _step(then)

    def next_step(self, request: SentRequest) -> Step:
        return self._steps.pop() if self._steps else self._then

    @property
    def finished(self) -> bool:
        """Whether every step has been taken."""
        return not self._steps


def _step(each: Step | Fault) -> Step:
    if each is Fault.SLOW:
        return Step(Fault.OK, SLOW_S)
    if each is Fault.RETRY_AFTER:
        return Step(Fault.THROTTLED, retry_after_s=RETRY_AFTER_S)
    return Step(each) if isinstance(each, Fault) else each


@dataclass(frozen=True, slots=True)
class Outage:
    """A stretch of time in which every request meets the same step, in some scopes or, for None, in all."""

    from_s: float
    until_s: float
    step: Step
    scopes: frozenset[object] | None = None

    def covers(self, request: SentRequest) -> bool:
        in_scope = self.scopes is None or request.scope in self.scopes
        return in_scope and self.from_s <= request.started_s < self.until_s


@dataclass(slots=True)
class RandomFaults:
    """Faults drawn from a seeded generator: the same seed and the same requests give the same faults.

    :param faults: drawn from, each as likely as the others; none after `healthy_after_s`
    :param rate: the share of requests that meet a fault, from 0 to 1
    :param latencies_s: drawn from for each answer
    :param retry_afters_s: drawn from for each throttle; None for an answer that asks for nothing
    """

    random: Random
    faults: Sequence[Fault] = ()
    rate: float = 0.0
    latencies_s: Sequence[float] = (0.0,)
    retry_afters_s: Sequence[float | None] = (None,)
    outages: Sequence[Outage] = field(default=())
    healthy_after_s: float = float("inf")

    def next_step(self, request: SentRequest) -> Step:
        latency_s = self.random.choice(self.latencies_s)
        if request.started_s >= self.healthy_after_s:
            return Step(Fault.OK, latency_s)
        for outage in self.outages:
            if outage.covers(request):
                return outage.step
        if not self.faults or self.random.random() >= self.rate:
            return Step(Fault.OK, latency_s)
        fault = self.random.choice(self.faults)
        asked = self.random.choice(self.retry_afters_s) if fault is Fault.THROTTLED else None
        return Step(fault, latency_s, self._indices(fault, len(request.entries)), asked)

    def _indices(self, fault: Fault, count: int) -> frozenset[int] | None:
        if not fault.by_index:
            return None
        # One, all, or about half: the patterns that requeueing code gets wrong in different ways.
        share = self.random.choice((0.0, 0.5, 1.0))
        drawn = {index for index in range(count) if self.random.random() < share}
        return frozenset(drawn or {self.random.randrange(count)})


@dataclass(frozen=True, slots=True)
class PoisonedEntries:
    """Refuses poisoned entries, whatever else happens: nothing ever stores them.

    :param beneath: what happens to a request without them
    :param by_index: whether the others of its request are stored; else the whole request is refused
    :param is_poison: which entries these are; by default those with the flaw ``"poison"``
    """

    beneath: FaultSource
    by_index: bool = False
    is_poison: Callable[[Any], bool] = lambda entry: getattr(entry, "flaw", "") == "poison"

    def next_step(self, request: SentRequest) -> Step:
        step = self.beneath.next_step(request)
        bad = [index for index, entry in enumerate(request.entries) if self.is_poison(entry)]
        if not bad or step.fault in _STORES_NOTHING:
            return step
        if step.fault in _INSTEAD:
            return replace(step, fault=_INSTEAD[step.fault])
        if self.by_index:
            return replace(step, fault=Fault.POISONED, indices=frozenset(bad))
        return replace(step, fault=Fault.REJECTED)


_INSTEAD = {
    Fault.ANSWER_LOST: Fault.DISCONNECTED,
    Fault.ANSWER_CUT: Fault.DISCONNECTED,
    Fault.HANGING_STORED: Fault.HANGING,
}
_STORES_NOTHING = frozenset(
    {Fault.THROTTLED, Fault.REFUSED, Fault.DISCONNECTED, Fault.HANGING, Fault.REJECTED, Fault.FATAL}
)
