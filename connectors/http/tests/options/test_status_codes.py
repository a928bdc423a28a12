"""How options name statuses, and which of them counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import ConfigurationError
from asyncsink_http import HttpOptions
from asyncsink_http.answers.statuses import StatusTable, Verdict
from asyncsink_http.options.status_codes import STATUSES, Rank, chosen, named_statuses

URL = "https://api.example.com/rows"


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ("503", [503]),
        (" 500 , 502,", [500, 502]),
        ("5XX", range(500, 600)),
        ("5xx", range(500, 600)),
        ("500-502", [500, 501, 502]),
        ("500 - 502", [500, 501, 502]),
        ("503-503", [503]),
        ("598-", [598, 599]),
        ("500-502,!501", [500, 502]),
        ("!501,500-502", [500, 502]),
        ("5XX,!501-599", [500]),
        ("4XX,500,!4xx", [500]),
        ("503,! 503,504", [504]),
    ],
)
def test_statuses_are_named_by_themselves_by_ranges_and_by_masks(text: str, statuses: list[int]) -> None:
    assert sorted(named_statuses("retryCodes", text)) == list(statuses)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("50", "'50'"),
        ("5000", "'5000'"),
        ("199", "'199'"),
        ("600", "'600'"),
        ("1XX", "'1XX'"),
        ("50X", "'50X'"),
        ("XXX", "'XXX'"),
        ("-500", "'-500'"),
        ("500-700", "'500-700'"),
        ("500 503", "'500 503'"),
        ("503;504", "'503;504'"),
        ("!!503", "'!503'"),
        ("٥٠٣", "'٥٠٣'"),
        ("teapot", "'teapot'"),
    ],
)
def test_what_names_no_status_is_refused_and_quoted(text: str, quoted: str) -> None:
    with pytest.raises(ConfigurationError, match="names no status from 200 to 599; write for example 503") as raised:
        named_statuses("retryCodes", f"200,{text}")
    assert f"option 'retryCodes' has {quoted}" in str(raised.value)


@pytest.mark.parametrize("text", ["", " , ", "!503", "503,!5XX"])
def test_an_option_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"option 'retryCodes' = .* names no status; write for example"):
        named_statuses("retryCodes", text)


def test_a_range_must_not_end_before_it_begins() -> None:
    with pytest.raises(ConfigurationError, match="has '503-500', which ends before it begins; write 500-503"):
        named_statuses("retryCodes", "503-500")


def test_the_closest_name_counts() -> None:
    found = chosen({"retryCodes": "5XX", "fatalCodes": "500-509", "rejectCodes": "505", "throttleCodes": None})
    assert (found[505].option, found[504].option, found[510].option) == ("rejectCodes", "fatalCodes", "retryCodes")
    assert [found[status].rank for status in (505, 504, 510)] == [Rank.EXACT, Rank.RANGE, Rank.MASK]
    assert 499 not in found


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        ("503", "503", "both name the status 503, each as itself; take it out of one of them, by !503 for example"),
        ("5XX", "5XX,4XX", "both name the status 500, each as part of a mask"),
        ("500-505", "505-", "both name the status 505, each as part of a range"),
    ],
)
def test_two_options_may_not_name_a_status_equally_closely(one: str, other: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        HttpOptions(url=URL, retry_codes=one, fatal_codes=other)
    assert str(raised.value).startswith(f"options 'retryCodes' and 'fatalCodes' {sentence}")
    assert HttpOptions(url=URL, retry_codes=one, fatal_codes=f"404,{other},!500-599").fatal_codes is not None


PARTS = st.one_of(
    st.integers(200, 599).map(str),
    st.integers(2, 5).map(lambda digit: f"{digit}XX"),
    st.tuples(st.integers(200, 599), st.integers(200, 599)).map(lambda ends: f"{min(ends)}-{max(ends)}"),
    st.integers(200, 599).map(lambda first: f"{first}-"),
)


def includes(part: str, status: int) -> bool:
    """Whether a part names a status, by other means than those under test."""
    if part.endswith("XX"):
        return status // 100 == int(part[0])
    first, dash, last = part.partition("-")
    return int(first) <= status <= int(last or 599) if dash else status == int(part)


@given(
    named=st.lists(PARTS, min_size=1, max_size=4),
    excluded=st.lists(PARTS, max_size=3),
    status=st.sampled_from(STATUSES),
)
def test_a_status_is_named_if_a_part_includes_it_and_none_excludes_it(
    named: list[str], excluded: list[str], status: int
) -> None:
    text = ",".join([*named, *(f"!{part}" for part in excluded)])
    expected = {
        each
        for each in STATUSES
        if any(includes(part, each) for part in named) and not any(includes(part, each) for part in excluded)
    }
    if not expected:
        with pytest.raises(ConfigurationError, match="names no status"):
            named_statuses("retryCodes", text)
        return
    assert (status in named_statuses("retryCodes", text)) == (status in expected)


OPTIONS = {
    "success_codes": Verdict.STORED,
    "ignore_codes": Verdict.IGNORED,
    "retry_codes": Verdict.RETRYABLE,
    "throttle_codes": Verdict.THROTTLED,
    "reject_codes": Verdict.REJECTED,
    "fatal_codes": Verdict.FATAL,
}


@pytest.mark.parametrize(("field", "verdict"), OPTIONS.items())
@pytest.mark.parametrize("status", [200, 207, 302, 404, 408, 422, 429, 503])
def test_each_option_moves_a_status_and_no_other(field: str, verdict: Verdict, status: int) -> None:
    usual = StatusTable.of(HttpOptions(url=URL).resolved())
    moved = StatusTable.of(HttpOptions(url=URL, **{field: str(status)}).resolved())  # type: ignore[arg-type]
    assert moved.verdict(status) is verdict
    others = [each for each in STATUSES if each != status]
    assert [moved.verdict(each) for each in others] == [usual.verdict(each) for each in others]
    kind = moved.errors().kind_of(str(status))
    assert (kind.value if kind else None) == (None if verdict in (Verdict.STORED, Verdict.IGNORED) else verdict.value)


def test_a_status_that_an_option_makes_fatal_says_so() -> None:
    errors = StatusTable.of(HttpOptions(url=URL, fatal_codes="503,404").resolved()).errors()
    assert errors.remedy("503") == "The option fatalCodes says that no retry helps."
    assert errors.remedy("404") == "Nothing is at this address: check url."
