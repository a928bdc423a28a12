"""Answers that judge each row: what becomes of them, whoever reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asyncsink import ConfigurationError, FailureKind, RequestResult
from asyncsink_http import HttpAnswer, HttpOptions, HttpSink
from asyncsink_http.answers.codes import ANSWER_TOO_LARGE, ITEM_RESULTS
from asyncsink_http.answers.items import item_results_of, most_answer_bytes
from asyncsink_http.answers.statuses import StatusTable

from . import readers
from .judging import judged, refusal_of

URL = "https://api.example.com/rows"


def reader(name: str) -> str:
    return f"{readers.__name__}:{name}"


def telling(failed: dict[str, str], status: int = 200) -> HttpAnswer:
    return HttpAnswer(status, "", {}, json.dumps({"failed": failed}).encode())


@pytest.mark.parametrize("status", [200, 207, 400])
def test_rows_that_an_answer_names_have_failed_and_the_others_are_stored(status: int) -> None:
    result = judged(telling({"1": "422", "3": "503"}, status), count=5, item_results=reader("by_code"))
    errors = StatusTable.of(HttpOptions(url=URL).resolved()).errors()
    kinds = {row: each.kind or errors.kind_of(each.code) for row, each in result.failed.items()}
    assert kinds == {1: FailureKind.REJECTED, 3: FailureKind.RETRYABLE}


def test_what_is_said_of_a_row_is_shown_without_secrets_and_cut() -> None:
    result = judged(telling({"0": "422"}), item_results=reader("by_code"))
    assert result.failed[0].message == "said 422 of ***"
    result = judged(telling({"0": "422"}), item_results=reader("by_code"), response_characters=5)
    assert result.failed[0].message == "said…"


def test_a_reader_may_say_nothing_and_then_the_status_counts() -> None:
    nothing = reader("by_code")
    assert judged(HttpAnswer(200, "", {}, b""), item_results=nothing) is RequestResult.OK
    assert refusal_of(HttpAnswer(400, "", {}, b""), item_results=nothing).code == "400"
    # Nobody knows what of a 207 is stored.
    assert refusal_of(HttpAnswer(207, "", {}, b""), item_results=nothing).code == ITEM_RESULTS


@pytest.mark.parametrize("status", [302, 401, 404, 422, 429, 500, 503])
def test_answers_of_other_statuses_are_not_read(status: int) -> None:
    assert refusal_of(telling({"0": "422"}, status), item_results=reader("by_code")).code == str(status)


def test_answers_that_an_option_judges_otherwise_are_not_read() -> None:
    options: dict[str, Any] = {"item_results": reader("by_code"), "ignore_codes": "400", "retry_codes": "202"}
    assert judged(telling({"0": "422"}, 400), **options) is RequestResult.OK
    assert refusal_of(telling({"0": "422"}, 202), **options).code == "202"


def test_a_reader_of_kinds_of_its_own_and_of_a_pause_is_believed() -> None:
    quota = {"ratelimit-remaining": "0", "ratelimit-reset": "9"}
    result = judged(HttpAnswer(200, "", quota, b""), item_results=reader("by_kind"))
    assert (result.failed[0].code, result.failed[0].kind, result.pause_s) == ("E7", FailureKind.REJECTED, 3.0)


def test_a_quota_pauses_beside_what_is_said_of_rows() -> None:
    quota = {"ratelimit-remaining": "0", "ratelimit-reset": "9"}
    answer = HttpAnswer(200, "", quota, b'{"failed":{"0":"422"}}')
    result = judged(answer, item_results=reader("by_code"))
    assert (list(result.failed), result.pause_s) == ([0], 9.0)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("outside", "IndexError: it names row 3 of 3"),
        ("strange", "TypeError: it gave list, and not a RequestResult or None"),
        ("by_code", "JSONDecodeError: "),
    ],
)
def test_an_answer_that_cannot_be_read_is_neither_stored_nor_refused(name: str, sentence: str) -> None:
    error = refusal_of(HttpAnswer(200, "", {}, b"<html>"), count=3, item_results=reader(name))
    assert error.code == ITEM_RESULTS
    assert (
        f"an answer 200 from POST https://api.example.com/rows?*** cannot be read by itemResults={reader(name)}"
        in str(error)
    )
    assert sentence in str(error)


def test_an_answer_that_is_cut_says_nothing_of_the_rows_behind_the_cut() -> None:
    error = refusal_of(HttpAnswer(200, "", {}, b'{"errors":false}', is_cut=True), item_results="elasticsearch")
    assert (error.code, "of more than 16 bytes" in str(error)) == (ANSWER_TOO_LARGE, True)
    # Without a reader the rest of an answer is of no importance.
    assert judged(HttpAnswer(200, "", {}, b"x", is_cut=True)) is RequestResult.OK


def test_more_is_read_of_an_answer_that_judges_rows() -> None:
    usual, reading = HttpOptions(url=URL), HttpOptions(url=URL, item_results="elasticsearch")
    assert (most_answer_bytes(usual), most_answer_bytes(reading)) == (2**16, 2**24)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            "elasticserch",
            "must be 'elasticsearch' or 'splunk-hec' or 'package.module:name'; did you mean 'elasticsearch'",
        ),
        ("a b:c", "option 'itemResults' = 'a b:c' is no import path; write it as 'package.module:name'"),
        ("module:", "is no import path"),
    ],
)
def test_a_reader_of_no_name_is_refused_when_the_options_are_read(value: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        HttpOptions(url=URL, item_results=value)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("value", ["elasticsearch", "ElasticSearch", "splunk_hec", "splunkHec"])
def test_readers_are_named_in_any_spelling(value: str) -> None:
    assert HttpOptions(url=URL, item_results=value).item_results in ("elasticsearch", "splunk-hec")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (reader("no_function"), "names no function"),
        (reader("missing"), "has no 'missing'"),
        ("no_such_module:read", "failed to import"),
    ],
)
@pytest.mark.anyio
async def test_a_reader_that_does_not_load_stops_before_any_row(path: str, sentence: str) -> None:
    sink = HttpSink(url="http://127.0.0.1:9/rows", item_results=path)
    with pytest.raises(ConfigurationError, match=sentence):
        async with sink.open():
            pass


def test_rows_that_fail_by_themselves_contradict_requests_that_are_repeated_as_they_were() -> None:
    with pytest.raises(ConfigurationError, match="batching = 'deterministic' contradicts itemResults"):
        HttpSink.from_options({"url": URL, "batching": "deterministic", "itemResults": "elasticsearch"})
    assert item_results_of(HttpSink.from_options({"url": URL, "batching": "deterministic"}).options) is None
