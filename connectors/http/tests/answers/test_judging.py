"""What is made of an answer: stored, or an error in words."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink import RequestError, RequestResult
from asyncsink_http import HttpAnswer
from asyncsink_http.answers.codes import IN_PROGRESS
from asyncsink_http.entries.target import Target

from .judging import judge_of, judged, refusal_of, rows


def refusal(status: int, reason: str, text: str = "", *, attempt: int = 1, **options: Any) -> RequestError:
    answer = HttpAnswer(status, reason, {"retry-after": "2"}, text.encode())
    return refusal_of(answer, attempt=attempt, **options)


def test_a_2xx_stores_every_row() -> None:
    assert judged(HttpAnswer(201, "Created", {}, b"ok")) is RequestResult.OK


def test_a_refusal_names_status_address_and_what_the_server_says() -> None:
    error = refusal(503, "Service Unavailable", "try\r\n  later")
    assert (error.code, error.retry_after_s) == ("503", 2.0)
    assert str(error) == (
        '503: Service Unavailable from POST https://api.example.com/rows?***; the server says "try later".'
    )
    assert str(refusal(599, "")) == "599: no reason given from POST https://api.example.com/rows?***."


def test_what_the_server_says_is_cut_and_without_secrets() -> None:
    echo = "bad token s3cret-token with s3cret-key at ?sig=s3cret-query: " + "x" * 2000
    message = str(refusal(401, "Unauthorized", echo))
    assert "s3cret" not in message
    assert "bad token *** with *** at ?***" in message
    assert 1000 < len(message) < 1100
    assert 'says "bad to…".' in str(refusal(401, "Unauthorized", echo, response_characters=7))
    assert "says" not in str(refusal(401, "Unauthorized", echo, response_characters=0))


def test_what_the_server_says_beside_the_status_is_shortened_and_without_secrets() -> None:
    message = str(refusal(400, "no s3cret-token " + "x" * 1000))
    assert "400: no *** xxx" in message
    assert len(message) < 400


def test_a_secret_on_the_edge_of_the_cut_is_not_shown_in_part() -> None:
    assert "s3c" not in str(refusal(401, "Unauthorized", "x" * 995 + "s3cret-token"))


@pytest.mark.parametrize(
    ("status", "remedy"), [(413, "Lower maxBatchSize or maxBatchSizeInBytes"), (422, "Check that")]
)
def test_a_rejection_tells_what_to_do_where_that_is_known(status: int, remedy: str) -> None:
    assert f"rows?***. {remedy}" in str(refusal(status, "No"))


def test_a_conflict_with_an_earlier_sending_of_the_same_request_is_no_rejection() -> None:
    assert refusal(409, "Conflict").code == "409"
    again = refusal(409, "Conflict", attempt=2)
    assert (again.code, again.retry_after_s) == (IN_PROGRESS, 2.0)
    assert refusal(409, "Conflict", attempt=2, idempotency_key=False).code == "409"
    assert refusal(400, "Bad", attempt=2).code == "400"


def test_a_conflict_that_an_option_judges_is_what_it_says_whenever_it_comes() -> None:
    assert judged(HttpAnswer(409, "Conflict", {}, b""), attempt=2, success_codes="409") is RequestResult.OK
    assert refusal(409, "Conflict", attempt=2, fatal_codes="409").code == "409"
    assert refusal(409, "Conflict", attempt=2, reject_codes="409").code == "409"


def test_a_row_with_an_address_of_its_own_has_that_in_messages() -> None:
    judge, conversation = judge_of({})
    target = Target("PUT", "https://api.example.com/rows/7?sig=s3cret")
    with pytest.raises(RequestError, match=r"No from PUT https://api.example.com/rows/7\?\*\*\*\.$"):
        judge.judge(HttpAnswer(404, "No", {}, b""), rows(route=target), conversation)


def test_rows_of_an_ignored_status_are_acknowledged_and_one_warning_tells_of_each_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    judge, conversation = judge_of({"ignore_codes": "404,410"})
    for status in (404, 404, 410, 404):
        answer = HttpAnswer(status, "No", {}, b"nothing here for s3cret-token")
        assert judge.judge(answer, rows(3), conversation) is RequestResult.OK
    warned = [record.getMessage() for record in caplog.records]
    assert len(warned) == 2
    assert warned[0].startswith("3 rows count as delivered by ignoreCodes, and later ones that are answered so: 404 No")
    assert 'says "nothing here for ***"' in warned[0]


def test_a_quota_that_the_requests_under_way_will_use_up_pauses_whatever_the_answer_means() -> None:
    headers = {"ratelimit-remaining": "2", "ratelimit-reset": "7"}
    judge, conversation = judge_of({"ignore_codes": "404"})
    for in_flight, pause_s in ((1, None), (2, 7.0), (3, 7.0)):
        conversation.in_flight = in_flight
        for status in (200, 404):
            assert judge.judge(HttpAnswer(status, "", headers, b""), rows(), conversation).pause_s == pause_s


def test_a_quota_says_when_a_server_that_refuses_for_its_load_may_be_asked_again() -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "7"}
    judge, conversation = judge_of({})
    deaf, _ = judge_of({"rate_limit_headers": False})
    for status, wait_s in ((429, 7.0), (503, 7.0), (502, None), (400, None)):
        with pytest.raises(RequestError) as raised:
            judge.judge(HttpAnswer(status, "", headers, b""), rows(), conversation)
        assert raised.value.retry_after_s == wait_s
        with pytest.raises(RequestError) as raised:
            deaf.judge(HttpAnswer(status, "", headers, b""), rows(), conversation)
        assert raised.value.retry_after_s is None
    assert deaf.judge(HttpAnswer(200, "", headers, b""), rows(), conversation) is RequestResult.OK


def test_an_answer_shows_nothing_that_the_server_says_in_words() -> None:
    answer = HttpAnswer(200, "s3cret", {"set-cookie": "s3cret"}, b"s3cret")
    assert repr(answer) == "<HttpAnswer HTTP/1.1 200, 6 bytes>"


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://login.example.com:8443/in?token=s3cret#s3cret", ", which leads to https://login.example.com:8443."),
        ("//me:s3cret@eu.example.com/s3cret", ", which leads to https://eu.example.com."),
        ("/s3cret", ", which leads to https://api.example.com."),
        ("http://[half", "rows?***."),
        ("mailto:s3cret", "rows?***."),
    ],
)
def test_a_redirect_tells_the_host_that_it_leads_to(location: str, shown: str) -> None:
    message = str(refusal_of(HttpAnswer(307, "Moved", {"location": location}, b"")))
    assert shown in message
    assert "s3cret" not in message


def test_what_is_no_redirect_leads_nowhere() -> None:
    assert "leads" not in str(refusal_of(HttpAnswer(503, "No", {"location": "https://eu.example.com/"}, b"")))
