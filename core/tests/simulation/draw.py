"""Scenarios, drawn: of moderate malice, short enough that a million of them can be run."""

from __future__ import annotations

from random import Random
from typing import Any

from asyncsink_testing import Fault

from .scenario import FINAL, Ending, Scenario

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
OPERATIONS = ("write", "write", "write_many", "write_block", "write_nowait", "flush", "sleep")
ROUTES: list[list[str | None]] = [[None], [None], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]


def draw(random: Random) -> Scenario:
    """A scenario; one in ten is of a writer that gives up or is refused for good."""
    patient = random.random() < 0.9
    config = _config(random, patient)
    routes = random.choice(ROUTES)
    endings: list[Ending] = [random.choice(["leave", "kill", "raise", "close"]) for _ in range(random.randrange(3))]
    return Scenario(
        config=config,
        faults=_faults(random, config, patient),
        operations=OPERATIONS,
        steps=random.choice([5, 12, 25]),
        endings=[*endings, "leave"],
        outage=_outage(random, config, routes) if random.random() < 0.4 else None,
        capacity=_capacity(random, config) if random.random() < 0.15 else None,
        limited=random.random() < 0.5,
        patient=patient,
        routes=routes,
        joined=len(routes) > 2 and random.random() < 0.4,
        late=random.choice([0.0, 0.0, 0.0, 0.0, 0.05, 0.3]),
        beside=patient and random.random() < 0.2,
        looks=random.choice([0.02, 0.2, 0.6]),
        creep_s=random.choice([0.0, 2e-9]),
    )


def _config(random: Random, patient: bool) -> dict[str, Any]:
    most = random.choice([1, 2, 3, 5, 8, 15, 25])
    record = random.choice([6, 10])
    batch_bytes = record * random.choice([1, 3, 10, 50, 50, 50])
    initial_s = random.choice([0.0, 0.02, 0.1])
    return {
        "max_batch_size": most,
        "max_in_flight_requests": random.choice([1, 1, 2, 3, 5]),
        "max_buffered_requests": most + random.choice([1, 2, 5, 20]),
        "max_batch_size_in_bytes": batch_bytes,
        "max_buffered_size_in_bytes": batch_bytes * random.choice([1, 2, 4, 100]),
        "max_time_in_buffer_s": random.choice([0.05, 0.5, 3.0]),
        "max_record_size_in_bytes": record,
        "request_timeout_s": random.choice([0.5, 1.0, 4.0]),
        "stall_timeout_s": None,
        "rate_limit": _rate_limit(random, most),
        "retry": {
            "max_attempts": 10_000 if patient else random.choice([2, 4, 10_000]),
            "timeout_s": 1e6 if patient else random.choice([0.5, 3.0, 20.0]),
            "initial_backoff_s": initial_s,
            "max_backoff_s": max(initial_s, random.choice([0.1, 0.5, 2.0])),
            "retry_after_cap_s": random.choice([0.5, 2.0]),
        },
    }


def _rate_limit(random: Random, most: int) -> dict[str, Any]:
    limits: list[dict[str, Any]] = [
        {"kind": "aimd", "increase": 1},
        {"kind": "aimd", "initial": most, "ceiling": 10 * most, "increase": 2},
        {"kind": "flink"},
    ]
    return random.choice(limits)


def _faults(random: Random, config: dict[str, Any], patient: bool) -> dict[str, Any]:
    # All of one kind now and then: what only a row of them brings about would else be rare.
    kinds = random.sample(PASSING, 1 if random.random() < 0.2 else random.randrange(len(PASSING) + 1))
    if not patient:
        kinds += random.sample(FINAL, random.randrange(2))
    timeout_s = config["request_timeout_s"]
    latencies = [[0.0], [0.01], [0.01, 0.1], [0.0, 0.01, timeout_s / 3], [0.01, timeout_s], [0.001, timeout_s * 0.999]]
    return {
        "faults": [each.value for each in kinds],
        "rate": random.choice([0.0, 0.1, 0.2, 0.4]),
        "latencies_s": random.choice(latencies),
        "retry_afters_s": random.choice([[None], [None, 0.2, 1.0], [0.7, 100.0]]),
        "healthy_after_s": random.choice([3.0, 10.0, 40.0]),
    }


def _outage(random: Random, config: dict[str, Any], routes: list[str | None]) -> dict[str, Any]:
    """Not so long that a seed is nothing but failures: some ten rounds of the longest backoff at most."""
    retry, from_s = config["retry"], random.uniform(0.0, 3.0)
    # Without backoff and without latency an outage would never let time pass.
    latency_s = random.choice([0.0, 0.02]) if retry["initial_backoff_s"] else 0.02
    round_s = retry["max_backoff_s"] if retry["initial_backoff_s"] else 0.05
    return {
        "from_s": from_s,
        "until_s": from_s + round_s * random.choice([1, 3, 10]),
        "fault": random.choice(PASSING).value,
        "latency_s": latency_s,
        "retry_after_s": random.choice([None, 0.3, 5.0]),
        "route": random.choice(["*", random.choice(routes)]),
    }


def _capacity(random: Random, config: dict[str, Any]) -> dict[str, Any]:
    """So little that a full speed is throttled, and enough that it ends."""
    most = config["max_batch_size"]
    return {
        "records_per_s": most * random.choice([2.0, 10.0]),
        "burst_s": random.choice([0.5, 1.0]),
        "refill_every_s": random.choice([0.0, 0.0, 1.0]),
        "by_index": random.random() < 0.5,
        "hint_step_s": random.choice([None, 0.0, 1.0]),
        "latency_s": random.choice([0.02, 0.1]),
        "knee": random.choice([None, 1, 2]),
    }
