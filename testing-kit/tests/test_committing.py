"""The checks of committers, by a sink that does all right in each combination of committer and global committer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from outcomes import outcomes
from reference import registered, subject_of
from staged import STAGED, staged_destination

from asyncsink_testing.conformance import Capabilities, Subject, all_checks

COMMITTING = {check.id for check in all_checks() if check.group == "committing"}
OF_GLOBAL = {"global-commit-twice", "global-recovered"}
STORING = replace(STAGED, guarantee="at-least-once", commits=False)


def subject(sink: str, capabilities: Capabilities = STAGED, *, publishes: bool = False) -> Subject:
    return subject_of(sink, capabilities=capabilities, open_destination=staged_destination(publishes=publishes))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("sink", "capabilities", "publishes", "left_out", "waived"),
    [
        ("CommitterSink", STAGED, False, OF_GLOBAL, set()),
        ("PublisherSink", STAGED, True, {"commit-twice"}, set()),
        ("BothSink", STAGED, True, set(), set()),
        ("StoringSink", STORING, False, COMMITTING, {"age-timer"}),
    ],
    ids=["committer", "global committer", "both", "neither"],
)
def test_a_sink_that_does_all_right_passes_with_each_combination_of_committers(
    sink: str, capabilities: Capabilities, publishes: bool, left_out: set[str], waived: set[str]
) -> None:
    with registered(sink, f"staged:{sink}"):
        failed, not_applicable = outcomes(subject(sink, capabilities, publishes=publishes))
    assert set(failed) == waived, failed
    assert COMMITTING & set(not_applicable) == left_out


@pytest.mark.parametrize(
    ("sink", "capabilities", "told"),
    [
        ("CommitterSink", STORING, "commits = False, and the sink makes a committer"),
        ("StoringSink", STAGED, "commits = True, and the sink makes no committer"),
    ],
)
def test_a_committer_is_neither_denied_nor_claimed(sink: str, capabilities: Capabilities, told: str) -> None:
    with registered(sink, f"staged:{sink}"):
        failed, _ = outcomes(subject(sink, capabilities))
    assert told in failed["capabilities-told"]


def test_a_check_that_makes_no_sense_for_what_is_committed_says_why() -> None:
    with registered("CommitterSink", "staged:CommitterSink"):
        _, not_applicable = outcomes(subject("CommitterSink"))
    assert not_applicable["age-timer"] == (
        "the capabilities say commits = True: a row is not visible before it is committed, which no timer does"
    )
