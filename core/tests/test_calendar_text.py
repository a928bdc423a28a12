"""Dates as text: Python's where Python has one, and beyond."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.calendar_text import day_text, moment_text


@given(st.datetimes())
def test_the_calendar_is_pythons_where_python_has_one(moment: datetime) -> None:
    days = (moment.date() - date(1970, 1, 1)).days
    assert day_text(days) == moment.date().isoformat()
    count = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert datetime.fromisoformat(moment_text(count, 1_000_000)) == moment


@pytest.mark.parametrize(
    ("days", "text"), [(2932897, "+10000-01-01"), (-719529, "-0001-12-31"), (-719528, "0000-01-01"), (0, "1970-01-01")]
)
def test_a_year_that_python_has_not_is_written_with_its_sign(days: int, text: str) -> None:
    assert day_text(days) == text


def test_a_moment_has_as_many_digits_as_it_needs_but_at_least_three() -> None:
    assert moment_text(1, 1) == "1970-01-01T00:00:01.000"
    assert moment_text(-1, 1_000_000) == "1969-12-31T23:59:59.999999"
    assert moment_text(1, 1_000_000_000) == "1970-01-01T00:00:00.000000001"
