"""Quotas in every spelling, and what is no quota."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink_http.answers.rate_limits import refused_s, used_up_s

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
EPOCH = int(NOW.timestamp())

SPELLINGS = [
    {"ratelimit-remaining": "0", "ratelimit-reset": "30"},
    {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"},
    {"x-ratelimit-remaining": " 0 ", "x-ratelimit-reset": f"{EPOCH + 30}"},
    {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{(EPOCH + 30) * 1000}"},
    {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "Sat, 21 Nov 2026 08:00:30 GMT"},
    {"x-rate-limit-remaining": "0", "x-rate-limit-reset": f"{EPOCH + 30}"},
    {"ratelimit": '"default";r=0;t=30'},
    {"ratelimit": '"burst";r=7;t=90, "minute"; r=0; t=30'},
    {"ratelimit": "limit=100, remaining=0, reset=30"},
    {"ratelimit-remaining": "0", "ratelimit-reset": "7", "ratelimit": '"default";r=0;t=30'},
    {"ratelimit-remaining": "0", "retry-after": "30"},
    {"ratelimit-remaining": "0", "ratelimit-reset": "900", "retry-after": "30"},
]


@pytest.mark.parametrize("headers", SPELLINGS)
def test_a_quota_that_is_used_up_says_when_it_is_whole_again(headers: dict[str, str]) -> None:
    assert used_up_s(headers, 0, NOW) == 30.0
    assert refused_s(headers, 0, NOW) == 30.0


@pytest.mark.parametrize(("in_flight", "seconds"), [(0, None), (6, None), (7, 30.0), (50, 30.0)])
def test_a_quota_counts_as_used_up_when_the_requests_under_way_will_do_so(
    in_flight: int, seconds: float | None
) -> None:
    for headers in ({"ratelimit-remaining": "7", "ratelimit-reset": "30"}, {"ratelimit": '"a";r=7;t=30'}):
        assert used_up_s(headers, in_flight, NOW) == seconds
        assert refused_s(headers, in_flight, NOW) == seconds


def test_of_several_quotas_the_one_that_is_used_up_counts() -> None:
    headers = {"ratelimit": '"second";r=0;t=1, "day";r=900;t=3600'}
    assert used_up_s(headers, 0, NOW) == refused_s(headers, 0, NOW) == 1.0
    assert used_up_s({"ratelimit": '"second";r=0;t=1, "day";r=0;t=3600'}, 0, NOW) == 3600.0


def test_a_reset_alone_counts_only_for_a_server_that_refuses() -> None:
    assert used_up_s({"x-ratelimit-reset": "30"}, 50, NOW) is None
    assert refused_s({"x-ratelimit-reset": "30"}, 50, NOW) == 30.0


def test_retry_after_counts_before_all_quotas_and_asks_for_nothing_where_there_is_room() -> None:
    headers = {"retry-after": "2", "ratelimit-remaining": "90", "ratelimit-reset": "30"}
    assert refused_s(headers, 0, NOW) == 2.0
    assert used_up_s(headers, 0, NOW) is None


def test_a_moment_counts_from_the_date_of_the_answer() -> None:
    headers = {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": f"{EPOCH + 30}",
        "date": "Sat, 21 Nov 2026 08:00:10 GMT",
    }
    assert used_up_s(headers, 0, NOW) == 20.0


@pytest.mark.parametrize(
    "reset",
    ["", "soon", "-5", "0", "1e3", "nan", "inf", "1" * 19, "1, 2", f"{EPOCH - 5}", "Fri, 20 Nov 2026 08:00:00 GMT"],
)
def test_a_reset_that_is_none_or_over_asks_for_nothing(reset: str) -> None:
    assert used_up_s({"ratelimit-remaining": "0", "ratelimit-reset": reset}, 0, NOW) is None
    assert refused_s({"ratelimit-remaining": "0", "ratelimit-reset": reset}, 0, NOW) is None


@pytest.mark.parametrize("remaining", ["", "none", "-1", "0.5", "0, 0", "1" * 19])
def test_a_remainder_that_is_no_count_stops_nobody(remaining: str) -> None:
    assert used_up_s({"ratelimit-remaining": remaining, "ratelimit-reset": "30"}, 50, NOW) is None


def test_answers_without_a_quota_ask_for_nothing() -> None:
    assert used_up_s({}, 50, NOW) is None
    assert refused_s({}, 50, NOW) is None


NAMES = ["ratelimit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-reset", "retry-after", "date"]


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(NAMES), st.text('rt=;, "0123456789.-', max_size=30)))
def test_whatever_a_server_says_there_is_a_time_to_wait_or_none(headers: dict[str, str]) -> None:
    for seconds in (used_up_s(headers, 1, NOW), refused_s(headers, 1, NOW)):
        assert seconds is None or seconds > 0
