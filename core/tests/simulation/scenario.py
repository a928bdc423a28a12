"""What one seed stands for, as plain data, and the parts of a simulation that are made from it.

A seed means something only as long as the code that draws from it stays as it is. A scenario is therefore data that
can be written down: a case that once found something is kept as the scenario it was, and fields that are younger than
it have the values that leave them out. See :mod:`simulation.found`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any, Literal

from asyncsink import AsyncSinkWriterConfig, RateLimit, RetryPolicy
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink_testing import Fault, FaultSource, Outage, PoisonedEntries, RandomFaults, SentRequest, Step
from asyncsink_testing.capacity import Capacity, CapacityFaults, CapacityModel

Ending = Literal["leave", "kill", "raise", "close"]

FINAL = (Fault.FATAL, Fault.REJECTED, Fault.POISONED)
MAY_BE_LATE = (Fault.OK, Fault.PARTLY_FAILED, Fault.ANSWER_LOST, Fault.DISCONNECTED)
"""What an answer may be that comes after the deadline: of a late refusal the oracle does not know if it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that is drawn before the program starts; numbers, strings, and lists and dictionaries of them.

    :param config: of the writers; ``rate_limit`` and ``retry`` by their arguments
    :param faults: the arguments of :class:`RandomFaults`, faults by name
    :param outage: a stretch of time in which one thing happens to every request, if any
    :param capacity: the arguments of a :class:`CapacityModel`, if the destination has one
    :param limited: whether the rate limit plays its part; without it the oracle judges that nothing is idle
    :param patient: whether the retry policy can outlast every outage; if not, the writer may give up
    :param routed: whether the sink asks entries for a route at all
    :param joined: whether all routes but the last have one scope
    :param late: the share of answers that come after the deadline, from a connector that cannot be cut
    :param beside: whether a second writer shares the limiters of the first
    :param endings: how the lives of the writers end, the last of them by leaving
    :param operations: what a life does, by name, each as often as it stands here
    :param steps: how many of them a life has
    :param keys: how many keys the entries of a route have; 0 for none
    :param loose: the share of entries without a key, where there are keys
    :param atomic: whether the destination stores requests whole
    :param poison: the share of entries that the destination refuses
    :param poison_by_index: whether it refuses them alone; else the whole request
    :param unsendable: the share of elements that are too large or cannot be converted
    :param letters: of the store of dead letters: seconds that a write takes, and which write fails, if any
    :param batches: whether the converter converts whole batches
    :param odd: the share of fatal answers that come in a form that no connector should give, of unknown codes, and of
        entries that come back as new ones
    :param misused: whether the writer is called when it should not be, which must change nothing
    :param metrics: whether the writer registers its metrics
    :param looks: the share of instants at which the writer is looked at
    :param creep_s: by how much the clock moves from one reading to the next
    """

    config: Mapping[str, Any]
    faults: Mapping[str, Any]
    operations: Sequence[str]
    steps: int
    endings: Sequence[Ending] = ("leave",)
    outage: Mapping[str, Any] | None = None
    capacity: Mapping[str, Any] | None = None
    limited: bool = False
    patient: bool = True
    routes: Sequence[str | None] = (None,)
    routed: bool = True
    joined: bool = False
    late: float = 0.0
    beside: bool = False
    keys: int = 0
    loose: float = 0.0
    atomic: bool = False
    poison: float = 0.0
    poison_by_index: bool = False
    unsendable: float = 0.0
    letters: Mapping[str, Any] | None = None
    batches: bool = False
    odd: float = 0.0
    misused: bool = False
    metrics: bool = False
    looks: float = 0.3
    creep_s: float = 0.0

    @property
    def is_safe(self) -> bool:
        """Whether nothing gives a writer reason to fail: one that has failed tells of it only at its next call."""
        keeps = self.letters is None or self.letters["fails_at"] is None
        given_up = self.config.get("max_rejected", 1.0) == 1.0 or self.config.get("on_rejected", "fail") == "fail"
        return self.patient and keeps and given_up

    def as_data(self) -> dict[str, Any]:
        """What :meth:`of_data` makes the same scenario of, fit for JSON."""
        return asdict(self)

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Scenario:
        return cls(**data)

    def scope_of(self, route: Hashable | None) -> Hashable | None:
        return "joined" if self.joined and route != self.routes[-1] else route

    def writer_config(self) -> AsyncSinkWriterConfig:
        """What the writers are configured with."""
        told = dict(self.config)
        limit = dict(told.pop("rate_limit"))
        make = getattr(RateLimit, limit.pop("kind"))
        if self.letters is not None:
            delay_s, fails_at = self.letters["delay_s"], self.letters["fails_at"]
            errors: list[BaseException | None] = (
                [] if fails_at is None else [*[None] * fails_at, OSError("the store is full")]
            )
            told["dead_letters"] = DeadLetterMemory(delay_s=delay_s, errors=errors)
        return AsyncSinkWriterConfig(rate_limit=make(**limit), retry=RetryPolicy(**told.pop("retry")), **told)


@dataclass(slots=True)
class Moods:
    """What the destination of a scenario does to each request.

    :ivar late: whether answers may be late now; a writer that is killed hears nothing any more, and the oracle cannot
        tell
    """

    scenario: Scenario
    random: Random
    drawn: RandomFaults
    source: FaultSource
    late: bool = False

    @classmethod
    def of(cls, scenario: Scenario, seed: str) -> Moods:
        drawn = _random_faults(scenario, Random(f"{seed} faults"))
        source: FaultSource = drawn
        if scenario.capacity is not None:
            model = CapacityModel(**scenario.capacity)
            source = CapacityFaults(lambda scope: Capacity(model, seed=len(seed)), beneath=drawn)
        if scenario.poison:
            source = PoisonedEntries(source, scenario.poison_by_index)
        return cls(scenario, Random(f"{seed} late"), drawn, source)

    def next_step(self, request: SentRequest) -> Step:
        step = self.source.next_step(request)
        if not self.late or step.fault not in MAY_BE_LATE or self.random.random() >= self.scenario.late:
            return step
        # An odd time: of an answer at the very instant of the resend the history cannot tell which was first.
        timeout_s = self.scenario.config["request_timeout_s"]
        latency_s = timeout_s * self.random.choice((1.001, 1.3, 4.0)) * self.random.uniform(1.0, 1.1)
        return replace(step, latency_s=latency_s, uncut_s=2 * latency_s)

    def relent(self, wholly: bool) -> None:
        """From now on nothing is refused for good; `wholly`, nothing at all."""
        self.drawn.faults = [each for each in self.drawn.faults if each not in FINAL]
        if wholly:
            self.drawn.outages, self.drawn.rate = (), 0.0


def _random_faults(scenario: Scenario, random: Random) -> RandomFaults:
    told = dict(scenario.faults)
    faults = [Fault(name) for name in told.pop("faults")]
    outages = []
    if scenario.outage is not None:
        out = scenario.outage
        step = Step(Fault(out["fault"]), out["latency_s"], retry_after_s=out["retry_after_s"])
        scopes = None if out["route"] == "*" else frozenset({scenario.scope_of(out["route"])})
        outages.append(Outage(out["from_s"], out["until_s"], step, scopes))
    return RandomFaults(random, faults, outages=outages, **told)
