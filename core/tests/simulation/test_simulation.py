"""The short lane: a hundred and fifty seeds, each judged by every rule of the oracle."""

from __future__ import annotations

import pytest

from .run import run_seed

pytestmark = pytest.mark.filterwarnings("ignore:.*unacknowledged:ResourceWarning")


@pytest.mark.parametrize("first", range(0, 150, 10))
def test_no_rule_is_broken_whatever_program_and_faults_are_drawn(first: int) -> None:
    broken = [report for seed in range(first, first + 10) if (report := run_seed(seed)).violations]
    assert not broken, "\n".join(map(str, broken))


def test_a_seed_can_be_run_again_exactly() -> None:
    assert run_seed(77) == run_seed(77)
    assert run_seed(77).requests > 0
