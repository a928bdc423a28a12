"""The short lane: some seeds, each judged by every rule of the oracle, and all cases that ever found something."""

from __future__ import annotations

import json

import pytest

from .found import FOUND, Case
from .run import drawn, run_seed
from .scenario import Scenario

pytestmark = pytest.mark.filterwarnings("ignore:.*unacknowledged:ResourceWarning")


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_no_rule_is_broken_whatever_program_and_faults_are_drawn(first: int) -> None:
    broken = [report for seed in range(first, first + 10) if (report := run_seed(seed)).violations]
    assert not broken, "\n".join(map(str, broken))


@pytest.mark.parametrize("case", FOUND, ids=lambda case: str(case.seed))
def test_no_case_that_once_found_something_finds_it_again(case: Case) -> None:
    report = run_seed(case.seed, scenario=case.scenario)
    assert not report.violations, f"{case.found}\n{report}"


def test_a_run_has_enough_in_it_to_go_wrong() -> None:
    runs = [run_seed(seed) for seed in range(1000, 1040)]
    average = {
        name: sum(getattr(each, name) for each in runs) / len(runs) for name in ("entries", "requests", "faults")
    }
    assert average["entries"] >= 100
    assert average["requests"] >= 20
    assert average["faults"] >= 5


def test_a_seed_can_be_run_again_exactly() -> None:
    assert run_seed(77) == run_seed(77)
    assert run_seed(77).requests > 0


def test_a_scenario_that_was_written_down_runs_as_the_one_that_was_drawn() -> None:
    for seed in range(20):
        kept = Scenario.of_data(json.loads(json.dumps(drawn(seed).as_data())))
        assert run_seed(seed, scenario=kept) == run_seed(seed)
