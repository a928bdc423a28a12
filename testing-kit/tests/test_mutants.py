"""Every broken connector fails exactly the checks that it must fail, and every check has one that proves it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from mutants import Mutant, all_mutants
from outcomes import outcomes
from partitioned import PARTITIONED, OneServer, PartitionedDestination, opener
from reference import registered, subject_of

from asyncsink_testing.conformance import Check, all_checks

THOROUGH = frozenset({"delivers-all", "every-short-script", "long-scripts"})
"""The checks that take two thirds of the time that all take."""

WITHOUT_SPARK = [each for each in all_mutants() if not each.through_spark]


@pytest.mark.parametrize("kind", [PartitionedDestination, OneServer])
def test_the_reference_connector_of_a_service_with_partitions_fails_no_check(
    kind: type[PartitionedDestination],
) -> None:
    with registered("partitioned", "partitioned:PartitionedSink"):
        failed, _ = outcomes(subject_of("partitioned", capabilities=PARTITIONED, open_destination=opener(kind)))
    assert failed == {}


def test_the_reference_connector_passes_every_check_that_does_not_look_at_a_distribution() -> None:
    with registered("reference", "reference:ReferenceSink"):
        failed, not_applicable = outcomes(subject_of("reference"))
    assert failed == {}
    groups = {check.id: check.group for check in all_checks()}
    assert {groups[name] for name in not_applicable} <= {"committing", "packaging", "spark"}, not_applicable


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mutant", WITHOUT_SPARK, ids=str)
def test_a_mutant_fails_exactly_its_checks(mutant: Mutant) -> None:
    """A thorough check is asked about those that it must see; about the others at night."""
    asked = [each for each in all_checks() if each.id not in THOROUGH or each.id in mutant.fails]
    check_failures(mutant, asked, mutant.fails)


@pytest.mark.nightly
@pytest.mark.timeout(60)
@pytest.mark.parametrize("mutant", WITHOUT_SPARK, ids=str)
def test_a_mutant_fails_no_other_thorough_check(mutant: Mutant) -> None:
    check_failures(mutant, [each for each in all_checks() if each.id in THOROUGH], mutant.fails & THOROUGH)


def check_failures(mutant: Mutant, asked: Sequence[Check], expected: frozenset[str]) -> None:
    with mutant.provided():
        subject = subject_of(mutant.name, capabilities=mutant.capabilities, open_destination=mutant.open_destination)
        failed, _ = outcomes(subject, asked)
    told = "\n\n".join(f"{name}: {message}" for name, message in failed.items())
    assert set(failed) == expected, told


def test_each_thorough_check_is_one_of_the_kit() -> None:
    assert {each.id for each in all_checks()} >= THOROUGH


@pytest.mark.parametrize("check", [each for each in all_checks() if each.level == "required"], ids=str)
def test_every_required_check_is_proved_by_a_mutant_that_at_most_one_other_sees(check: Check) -> None:
    own = [each.name for each in all_mutants() if check.id in each.fails and len(each.fails) <= 2]
    assert own, f"{check.id} is proved by no mutant of its own"


def test_there_are_at_least_25_mutants() -> None:
    assert len(all_mutants()) >= 25
