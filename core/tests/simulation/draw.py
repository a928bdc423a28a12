"""Scenarios, drawn: of moderate malice, short enough that a million of them can be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from asyncsink_testing import Fault

from .scenario import FINAL, Ending, Scenario

PASSING = (
    Fault.THROTTLED,
    Fault.PARTLY_THROTTLED,
    Fault.PARTLY_FAILED,
    Fault.PARTLY_MIXED,
    Fault.REFUSED,
    Fault.ANSWER_LOST,
    Fault.DISCONNECTED,
    Fault.HANGING,
    Fault.HANGING_STORED,
)
OPERATIONS = ("write", "write", "write_many", "write_block", "write_nowait", "write_batch", "flush", "sleep")
ROUTES: list[list[str | None]] = [[None], [None], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]


def draw(random: Random) -> Scenario:
    """A scenario; one in eight is of a writer that gives up or is refused for good."""
    patient = random.random() < 0.88
    config = _config(random, patient)
    atomic = random.random() < 0.3
    beside = patient and random.random() < 0.2
    routes = random.choice(ROUTES)
    endings: list[Ending] = [random.choice(["leave", "kill", "raise", "close"]) for _ in range(random.randrange(3))]
    scenario = Scenario(
        config=config,
        faults=_faults(random, config, patient, atomic),
        operations=OPERATIONS,
        steps=random.choice([5, 12, 25]),
        endings=[*endings, "leave"],
        outage=_outage(random, config, routes, atomic) if random.random() < 0.4 else None,
        capacity=_capacity(random, config, atomic) if random.random() < 0.15 else None,
        limited=random.random() < 0.5,
        patient=patient,
        routes=routes,
        routed=len(routes) > 1 or random.random() < 0.3,
        joined=len(routes) > 2 and random.random() < 0.4,
        late=random.choice([0.0, 0.0, 0.0, 0.0, 0.05, 0.3]),
        beside=beside,
        atomic=atomic,
        **_keys(random, config),
        **_rejecting(random, config, atomic, beside),
        batches=random.random() < 0.5,
        odd=random.choice([0.0, 0.5]),
        misused=random.random() < 0.2,
        metrics=random.random() < 0.2,
        looks=random.choice([0.02, 0.2, 0.6]),
        creep_s=random.choice([0.0, 2e-9, 2e-9]),
    )
    # Of less than a hundred elements no share is judged.
    return scenario if config.get("max_rejected", 1.0) == 1.0 else replace(scenario, steps=25)


def _config(random: Random, patient: bool) -> dict[str, Any]:
    most = random.choice([1, 2, 3, 5, 8, 15, 25])
    record = random.choice([6, 6, 10, 10, 600_000])
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
        **_giving_up(random, patient),
        "rate_limit": _rate_limit(random, most),
        "retry": {
            "max_attempts": 10_000 if patient else random.choice([2, 4, 10_000]),
            "timeout_s": 1e6 if patient else random.choice([0.5, 3.0, 4.5]),
            "initial_backoff_s": initial_s,
            "max_backoff_s": max(initial_s, random.choice([0.1, 0.5, 2.0])),
            "retry_after_cap_s": random.choice([0.5, 2.0]),
        },
    }


def _giving_up(random: Random, patient: bool) -> dict[str, Any]:
    if patient:
        return {"stall_timeout_s": None}
    return {"stall_timeout_s": random.choice([None, 5.0]), "fail_on_timeout": random.random() < 0.3}


def _rate_limit(random: Random, most: int) -> dict[str, Any]:
    limits: list[dict[str, Any]] = [
        {"kind": "aimd", "increase": 1},
        {"kind": "aimd", "initial": most, "ceiling": 10 * most, "increase": 2},
        {"kind": "aimd", "unit": "requests"},
        {"kind": "flink"},
        {"kind": "adaptive"},
        {"kind": "fixed", "records": 20.0 * most, "burst": 2.0 * most},
        {"kind": "fixed", "requests": 20.0, "burst": 2.0},
        {"kind": "none"},
    ]
    return random.choice(limits)


def _possible(faults: Sequence[Fault], atomic: bool) -> list[Fault]:
    """Who stores a request whole or not at all never answers by index."""
    return [each for each in faults if not (atomic and each.by_index)]


def _faults(random: Random, config: dict[str, Any], patient: bool, atomic: bool) -> dict[str, Any]:
    # All of one kind now and then: what only a row of them brings about would else be rare.
    passing = _possible(PASSING, atomic)
    if not patient and not atomic and random.random() < 0.15:
        # Every entry fails by itself, again and again: only the watchdog ends that.
        return {"faults": [Fault.PARTLY_FAILED.value], "rate": 1.0, "latencies_s": [0.1], "healthy_after_s": 30.0}
    kinds = random.sample(passing, 1 if random.random() < 0.2 else random.randrange(len(passing) + 1))
    if not patient:
        kinds += random.sample(_possible(FINAL, atomic), random.randrange(3))
    timeout_s = config["request_timeout_s"]
    latencies = [[0.0], [0.01], [0.01, 0.1], [0.0, 0.01, timeout_s / 3], [0.01, timeout_s], [0.001, timeout_s * 0.999]]
    return {
        "faults": [each.value for each in kinds],
        "rate": random.choice([0.0, 0.1, 0.2, 0.4]),
        "latencies_s": random.choice(latencies),
        "retry_afters_s": random.choice([[None], [None, 0.2, 1.0], [0.7, 100.0]]),
        "healthy_after_s": random.choice([3.0, 10.0, 40.0]),
    }


def _outage(random: Random, config: dict[str, Any], routes: list[str | None], atomic: bool) -> dict[str, Any]:
    """Not so long that a seed is nothing but failures: some ten rounds of the longest backoff at most."""
    retry, from_s = config["retry"], random.uniform(0.0, 3.0)
    # Without backoff and without latency an outage would never let time pass.
    latency_s = random.choice([0.0, 0.02]) if retry["initial_backoff_s"] else 0.02
    round_s = retry["max_backoff_s"] if retry["initial_backoff_s"] else 0.05
    return {
        "from_s": from_s,
        "until_s": from_s + round_s * random.choice([1, 3, 10]),
        "fault": random.choice(_possible(PASSING, atomic)).value,
        "latency_s": latency_s,
        "retry_after_s": random.choice([None, 0.3, 5.0]),
        "route": random.choice(["*", random.choice(routes)]),
    }


def _capacity(random: Random, config: dict[str, Any], atomic: bool) -> dict[str, Any]:
    """So little that a full speed is throttled, and enough that it ends: no latency that comes near a deadline."""
    most = config["max_batch_size"]
    return {
        "records_per_s": most * random.choice([2.0, 10.0]),
        "burst_s": random.choice([0.5, 1.0]),
        "refill_every_s": random.choice([0.0, 0.0, 1.0]),
        "by_index": random.random() < 0.5 and not atomic,
        "hint_step_s": random.choice([None, 0.0, 1.0]),
        "latency_s": 0.02,
        "knee": random.choice([None, 1, 2]),
    }


def _keys(random: Random, config: dict[str, Any]) -> dict[str, Any]:
    """In a third of all seeds entries have keys whose order counts."""
    if random.random() < 0.65:
        return {}
    config["ordering"] = "key"
    return {"keys": random.choice([1, 3, 8, 40]), "loose": random.choice([0.0, 0.0, 0.2])}


def _rejecting(random: Random, config: dict[str, Any], atomic: bool, beside: bool) -> dict[str, Any]:
    """In two of five seeds something may be refused without the writer failing."""
    mode = random.choice(["fail", "fail", "fail", "drop", "dead_letter"])
    unsendable = random.choice([0.0, 0.0, 0.03])
    if mode == "fail":
        return {"unsendable": unsendable}
    config["on_rejected"] = mode
    # Who gives up entries need not fail when their attempts run out.
    config["retry"]["max_attempts"] = random.choice([2, 4, 10_000])
    # A writer beside another one is never given a reason to fail.
    config["max_rejected"] = 1.0 if beside else random.choice([1.0, 1.0, 0.05, 0.05])
    fails_at = None if beside else random.choice([None, None, None, 0, 2])
    letters = {"delay_s": random.choice([0.0, 0.01, 1.0]), "fails_at": fails_at}
    return {
        "unsendable": unsendable,
        "poison": random.choice([0.0, 0.02, 0.1]),
        "poison_by_index": random.random() < 0.3 and not atomic,
        "letters": letters if mode == "dead_letter" else None,
    }
