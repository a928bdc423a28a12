from __future__ import annotations

from datetime import UTC, datetime

import pytest

from asyncsink_http.answers.retry_after import retry_after_s

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("0", None),
        ("-3", None),
        ("", None),
        ("soon", None),
        ("1e3", None),
        ("Sat, 21 Nov 2026 08:00:30 GMT", 30.0),
        ("Saturday, 21-Nov-26 08:00:30 GMT", 30.0),
        ("Sat Nov 21 08:00:30 2026", 30.0),
        ("Sat, 21 Nov 2026 08:00:00 GMT", None),
        ("Sat, 21 Nov 2026 07:59:00 GMT", None),
        ("Sat, 99 Nov 2026 07:59:00 GMT", None),
        ("Mon, 01 Jan 2020 00:00:00 +99999999999999999", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        (",", None),
    ],
)
def test_seconds_and_all_three_forms_of_a_date_are_read(value: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": value}, NOW) == seconds


def test_an_answer_without_the_header_asks_for_nothing() -> None:
    assert retry_after_s({}, NOW) is None


def test_a_date_counts_from_the_date_of_the_answer() -> None:
    headers = {"retry-after": "Sat, 21 Nov 2026 09:00:05 GMT", "date": "Sat, 21 Nov 2026 09:00:00 GMT"}
    assert retry_after_s(headers, NOW) == 5.0


def test_a_date_in_the_far_future_counts_from_the_present_clock() -> None:
    seconds = retry_after_s({"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"})
    assert seconds is not None
    assert seconds > 0
