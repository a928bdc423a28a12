"""What one seed stands for: a configuration, routes and scopes, a destination's moods, and how lives end."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from asyncsink import AsyncSinkWriterConfig, RateLimit, RetryPolicy
from asyncsink_testing import Fault, Outage, RandomFaults, SentRequest, Step

Ending = Literal["leave", "kill", "raise", "close"]

PASSING = (
    Fault.THROTTLED,
    Fault.PARTLY_THROTTLED,
    Fault.PARTLY_FAILED,
    Fault.REFUSED,
    Fault.ANSWER_LOST,
    Fault.DISCONNECTED,
    Fault.HANGING,
    Fault.HANGING_STORED,
)
FINAL = (Fault.FATAL, Fault.REJECTED, Fault.POISONED)
MAY_BE_LATE = (Fault.OK, Fault.PARTLY_FAILED, Fault.ANSWER_LOST, Fault.DISCONNECTED)
"""What an answer may be that comes after the deadline: of a late refusal the oracle does not know if it counts."""


@dataclass(slots=True)
class LateAnswers:
    """Makes a share of another source's answers come after the deadline, from a connector that cannot be cut.

    :ivar on: whether it does; a writer that is killed hears nothing any more, and the oracle cannot tell
    """

    faults: RandomFaults
    random: Random
    timeout_s: float
    share: float
    on: bool = False

    def next_step(self, request: SentRequest) -> Step:
        step = self.faults.next_step(request)
        if not self.on or step.fault not in MAY_BE_LATE or self.random.random() >= self.share:
            return step
        # An odd time: of an answer at the very instant of the resend the history cannot tell which was first.
        latency_s = self.timeout_s * self.random.choice((1.001, 1.3, 4.0)) * self.random.uniform(1.0, 1.1)
        return replace(step, latency_s=latency_s, uncut_s=2 * latency_s)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that is drawn before the program starts.

    :param limited: whether the rate limit plays its part; without it the oracle judges that nothing is idle
    :param patient: whether the retry policy can outlast every outage; if not, the writer may give up
    :param late: the share of answers that come after the deadline, from a connector that cannot be cut
    :param beside: whether a second writer shares the limiters of the first
    :param endings: how the lives of the writers end, the last of them by leaving
    """

    config: AsyncSinkWriterConfig
    limited: bool
    patient: bool
    routes: tuple[Hashable | None, ...]
    scope_of: Callable[[Hashable | None], Hashable | None]
    faults: RandomFaults
    late: float
    beside: bool
    endings: tuple[Ending, ...]
    operations: int

    @property
    def legible(self) -> bool:
        """Whether its history tells when a writer rests: not if a neighbour's failures hold it back, nor if the
        answer to a request that has failed by its deadline comes after all.
        """
        return self.patient and not self.beside and not self.late


def draw(random: Random) -> Scenario:
    """A scenario of moderate malice; one in ten is of a writer that gives up or is refused for good."""
    patient = random.random() < 0.9
    config = _config(random, patient)
    routes = random.choice([(None,), (None,), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")])
    joined = random.random() < 0.3
    endings: list[Ending] = [random.choice(["leave", "kill", "raise", "close"]) for _ in range(random.randrange(3))]
    return Scenario(
        config,
        limited=random.random() < 0.5,
        patient=patient,
        routes=routes,
        scope_of=(lambda route: "all" if route in ("a", "b", "c") else route) if joined else (lambda route: route),
        faults=_faults(random, config, patient, routes),
        late=random.choice([0.0, 0.0, 0.0, 0.0, 0.05, 0.3]),
        beside=patient and random.random() < 0.2,
        endings=(*endings, "leave"),
        operations=random.choice([5, 15, 30]),
    )


def _config(random: Random, patient: bool) -> AsyncSinkWriterConfig:
    most = random.choice([1, 2, 3, 5, 8])
    record = random.choice([6, 10])
    batch_bytes = record * random.choice([1, 2, 3, 5, 50])
    in_flight = random.choice([1, 1, 2, 3, 5])
    initial_s = random.choice([0.0, 0.02, 0.1])
    limits = [
        RateLimit.aimd(increase=1),
        RateLimit.aimd(initial=max(1, most), ceiling=10 * most, increase=2),
        RateLimit.flink(),
    ]
    return AsyncSinkWriterConfig(
        max_batch_size=most,
        max_in_flight_requests=in_flight,
        max_buffered_requests=most + random.choice([1, 2, 5, 20]),
        max_batch_size_in_bytes=batch_bytes,
        max_buffered_size_in_bytes=batch_bytes * random.choice([1, 2, 4, 100]),
        max_time_in_buffer_s=random.choice([0.05, 0.5, 3.0]),
        stall_timeout_s=None,
        max_record_size_in_bytes=record,
        request_timeout_s=random.choice([0.5, 1.0, 4.0]),
        rate_limit=random.choice(limits),
        retry=RetryPolicy(
            max_attempts=10_000 if patient else random.choice([2, 4, 10_000]),
            timeout_s=1e6 if patient else random.choice([0.5, 3.0, 20.0]),
            initial_backoff_s=initial_s,
            max_backoff_s=max(initial_s, random.choice([0.1, 0.5, 2.0])),
            retry_after_cap_s=random.choice([0.5, 2.0]),
        ),
    )


def _faults(
    random: Random, config: AsyncSinkWriterConfig, patient: bool, routes: tuple[Hashable | None, ...]
) -> RandomFaults:
    timeout_s = config.request_timeout_s
    kinds = random.sample(PASSING, random.randrange(len(PASSING) + 1))
    if not patient:
        kinds += random.sample(FINAL, random.randrange(2))
    latencies = [[0.0], [0.01], [0.01, 0.1], [0.0, 0.01, timeout_s / 3], [0.01, timeout_s], [0.001, timeout_s * 0.999]]
    from_s = random.uniform(0.0, 3.0)
    # Without backoff and without latency an outage would never let time pass.
    latency_s = random.choice([0.0, 0.02]) if config.retry.initial_backoff_s else 0.02
    down = Step(random.choice(PASSING), latency_s, retry_after_s=random.choice([None, 0.3, 5.0]))
    hit = None if random.random() < 0.5 else frozenset({random.choice(routes)})
    outage = Outage(from_s, from_s + random.choice([0.5, 5.0, 60.0]), down, hit)
    return RandomFaults(
        Random(random.random()),
        kinds,
        rate=random.choice([0.0, 0.1, 0.3, 0.6]),
        latencies_s=random.choice(latencies),
        retry_afters_s=random.choice([(None,), (None, 0.2, 1.0), (0.7, 100.0)]),
        outages=(outage,) if random.random() < 0.4 else (),
        healthy_after_s=random.choice([10.0, 40.0, 120.0]),
    )
