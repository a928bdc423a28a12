"""The simulation is worth what it sees: each known bug, put into the writer, must break a rule within a few seeds."""

from __future__ import annotations

import pytest

from .mutants import MUTANTS, Mutant, applied
from .run import run_seed

pytestmark = pytest.mark.filterwarnings("ignore:.*unacknowledged:ResourceWarning")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_still_finds_the_line_that_it_breaks(mutant: Mutant) -> None:
    with applied(mutant):
        pass


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_simulation_catches_mutants(mutant: Mutant) -> None:
    with applied(mutant):
        broken = next((report for seed in range(300) if (report := run_seed(seed)).violations), None)
    assert broken is not None, f"300 seeds did not see {mutant.name}: {mutant.old!r} -> {mutant.new!r}"
