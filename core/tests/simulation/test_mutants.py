"""The simulation is worth what it sees: each known bug, put into the writer, must break a rule within a few seeds."""

from __future__ import annotations

import pytest

from .mutants import BASES, MOST_RUNS, MUTANTS, QUICK, Mutant, applied, runs_to_find

pytestmark = pytest.mark.filterwarnings("ignore:.*unacknowledged:ResourceWarning")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_still_finds_the_line_that_it_breaks(mutant: Mutant) -> None:
    with applied(mutant):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("mutant", [each for each in MUTANTS if each.name in QUICK], ids=lambda mutant: mutant.name)
def test_a_few_seeds_see_the_mutants_that_do_most_harm(mutant: Mutant) -> None:
    assert runs_to_find(mutant, BASES[0], 60) is not None


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_simulation_sees_every_mutant_from_every_base(mutant: Mutant, base: int) -> None:
    assert runs_to_find(mutant, base) is not None, (
        f"{MOST_RUNS} seeds from {base} on did not see {mutant.name}: {mutant.old!r} -> {mutant.new!r}"
    )
