"""What a check comes to: judged by what the capabilities claim, and told with what it is due to."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from reference import CAPABILITIES, registered, subject_of

from asyncsink_testing.conformance import Check, ConformanceError, Delivery, Trial, all_checks, run_check
from asyncsink_testing.conformance.running import shortened

CHECKS = {check.id: check for check in all_checks()}


def test_what_is_claimed_and_cannot_be_shown_is_told_so() -> None:
    destination: Any = SimpleNamespace(supported=frozenset(), requests=None)
    told = CHECKS["partial-failure"].not_applicable(CAPABILITIES, destination)
    assert told == "the destination cannot make the fault partly-failed, though the capabilities claim partial_failure"


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ({"guarantee": "exactly_once"}, "guarantee = 'exactly_once'; it is one of 'at-least-once', 'exactly-once'"),
        ({"ordering": "per_key"}, "ordering = 'per_key'; it is one of 'none', 'key'"),
        ({"max_batch_entries": 0}, "max_batch_entries = 0; a limit is 1 or more"),
        ({"client_modules": "httpx"}, r"client_modules = 'httpx' is one string; .*\('httpx',\)"),
    ],
)
def test_a_fact_that_cannot_be_is_refused(fact: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(CAPABILITIES, **fact)


def test_who_claims_exactly_once_may_double_nothing_by_a_lost_answer() -> None:
    with registered("reference", "reference:ReferenceSink"):
        run_check(CHECKS["answer-lost"], subject_of("reference"))
        capabilities = replace(CAPABILITIES, guarantee="exactly-once")
        with pytest.raises(ConformanceError, match=r"\d times, and the capabilities promise that none does"):
            run_check(CHECKS["answer-lost"], subject_of("reference", capabilities=capabilities))


def test_where_no_request_has_arrived_the_address_is_asked_for() -> None:
    rows = ({"id": 0, "key": "key-0", "text": ""},)
    delivery = Delivery(rows, (), (), id_of=int, never_twice=False, writer=None, error=None)
    with pytest.raises(ConformanceError, match=r"No request has arrived.*`sink_options` holds \{endpoint\}"):
        delivery.nothing_lost()


async def breaks_in_a_task(trial: Trial) -> None:
    async def breaks() -> None:
        raise ConformanceError("row 7 is lost") from ValueError("no such row")

    async with anyio.create_task_group() as group:
        group.start_soon(breaks)


def test_a_failure_within_tasks_keeps_its_cause_and_shows_the_check_alone() -> None:
    check = replace(CHECKS["delivers-all"], id="breaks", run=breaks_in_a_task)
    with pytest.raises(ConformanceError, match="row 7 is lost") as caught:
        run_check(check, subject_of("reference"))
    assert isinstance(caught.value.__cause__, ValueError)
    shown = functions_of(shortened(caught.value, check))
    assert shown[-1] == "breaks"
    assert "run_check" not in shown


async def never_ends(trial: Trial) -> None:
    await anyio.sleep_forever()


never_ends.__module__ = "elsewhere"  # as one of the kit's, whose lines are told from this test's


def test_a_check_that_hangs_shows_where_it_was_run() -> None:
    check: Check = replace(CHECKS["delivers-all"], id="hangs", run=never_ends)
    with pytest.raises(ConformanceError, match="check 'hangs' had not ended after 30 s") as caught:
        run_check(check, subject_of("reference"))
    assert functions_of(shortened(caught.value, check))[-1] == "_run"


def functions_of(error: ConformanceError) -> list[str]:
    """What a traceback shows."""
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return found
