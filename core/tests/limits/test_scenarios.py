"""The short lane: scenarios that take little time, with the strategies whose figures they expect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsink import RateLimit
from asyncsink_testing.capacity import CapacityChange, CapacityModel

from .comparison import measure
from .figures import figures
from .run import run
from .scenario import Scenario, scenarios
from .strategies import STRATEGIES

QUICK = [each for each in scenarios() if each.writers == 1 and each.capacity(0.0) <= 10_000]
SMALL = Scenario(
    name="small",
    held_out=False,
    title="",
    destination=CapacityModel(records_per_s=500, burst_s=0.2, by_index=True, changes=(CapacityChange(12, 2.0),)),
    duration_s=20,
    warmup_s=5,
)


@pytest.mark.parametrize("scenario", QUICK, ids=[each.name for each in QUICK])
def test_a_scenario_gives_the_figures_that_it_expects_of_the_paced_strategy(scenario: Scenario) -> None:
    assert not measure((scenario, "paced")).unexpected


@pytest.mark.parametrize("scenario", list(scenarios()), ids=[each.name for each in scenarios()])
def test_every_scenario_expects_something_of_a_known_strategy(scenario: Scenario) -> None:
    assert scenario.expected.keys() <= STRATEGIES.keys()
    assert "paced" in scenario.expected
    assert scenario.warmup_s < scenario.duration_s
    assert scenario.config.max_batch_size > 0


def test_both_sets_have_one_writer_and_sixteen_with_and_without_hints_and_changes() -> None:
    for held_out in (False, True):
        chosen = list(scenarios(held_out=held_out))
        assert {1, 16} <= {each.writers for each in chosen}
        assert {True, False} == {each.hints for each in chosen}
        assert {True, False} == {bool(each.destination.changes) for each in chosen}


def test_a_run_can_be_repeated_exactly() -> None:
    scenario = replace(SMALL, writers=3)
    once, again = (run(scenario, RateLimit.paced()) for _ in range(2))
    assert (once.offered, once.taken_by, once.limits) == (again.offered, again.taken_by, again.limits)
    assert sum(once.taken) > 0


def test_a_seed_changes_a_run() -> None:
    once, other = (run(replace(SMALL, seed=seed), RateLimit.aimd()) for seed in (1, 2))
    assert once.taken != other.taken


def test_writers_that_share_a_limiter_move_one_rate() -> None:
    apart, shared = (run(replace(SMALL, writers=4, share_limiter=flag), RateLimit.paced()) for flag in (False, True))
    of_one = sum(apart.limits[-50:]) / sum(shared.limits[-50:])
    assert of_one < 0.5, "a limiter of one's own has about a quarter of the capacity"
    assert figures(replace(SMALL, writers=4, share_limiter=True), shared).accepted > 0.9
