"""Answers of Splunk's event collector."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asyncsink import FailureKind
from asyncsink_http import HttpAnswer
from asyncsink_http.answers.splunk_hec import read_hec


def hec(status: int, **told: Any) -> HttpAnswer:
    return HttpAnswer(status, "", {}, json.dumps(told).encode())


@pytest.mark.parametrize("wrong", [0, 2, 4])
def test_events_before_the_wrong_one_are_stored_and_those_behind_it_go_again(wrong: int) -> None:
    answer = hec(400, text="Invalid data format", code=6, **{"invalid-event-number": wrong})
    result = read_hec(answer, 5)
    assert result is not None
    kinds = [result.failed[row].kind if row in result.failed else None for row in range(5)]
    assert kinds == [None] * wrong + [FailureKind.REJECTED] + [FailureKind.THROTTLED] * (4 - wrong)
    assert result.failed[wrong].message == "Invalid data format (code 6)"


@pytest.mark.parametrize(
    "answer",
    [
        hec(200, text="Success", code=0),
        hec(400, text="No data", code=5),
        hec(503, text="Server is busy", code=9),
        hec(403, text="Invalid token", code=4),
        HttpAnswer(400, "", {}, b"<html>"),
        HttpAnswer(200, "", {}, b""),
    ],
)
def test_what_speaks_of_no_event_is_left_to_its_status(answer: HttpAnswer) -> None:
    assert read_hec(answer, 5) is None


@pytest.mark.parametrize("wrong", [5, -1, "2", 1.0])
def test_a_number_of_no_event_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="is none of an event among 5"):
        read_hec(hec(400, code=6, **{"invalid-event-number": wrong}), 5)
