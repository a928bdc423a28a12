"""What is made of an answer: stored, or an error in words."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from asyncsink import ListBlock, ListRequestEntries, RequestError, RequestResult
from asyncsink_http import HttpAnswer, HttpOptions
from asyncsink_http.answers.codes import IN_PROGRESS
from asyncsink_http.answers.judging import AnswerJudge
from asyncsink_http.answers.statuses import StatusTable
from asyncsink_http.redaction import Redaction

OPTIONS: dict[str, Any] = {
    "url": "https://api.example.com/rows?sig=s3cret-query",
    "bearer_token": "s3cret-token",
    "headers": {"X-Api-Key": "s3cret-key"},
}


def judged(answer: HttpAnswer, *, attempt: int = 1, **options: Any) -> RequestResult:
    resolved = HttpOptions.of(**OPTIONS, **options).resolved()
    judge: AnswerJudge = pickle.loads(pickle.dumps(AnswerJudge(resolved, StatusTable.of(resolved))))
    return judge.judge(answer, ListRequestEntries(ListBlock([b"1"], [1]), attempt=attempt), Redaction(resolved))


def refusal(status: int, reason: str, text: str = "", *, attempt: int = 1, **options: Any) -> RequestError:
    answer = HttpAnswer(status, reason, {"retry-after": "2"}, text.encode())
    with pytest.raises(RequestError) as raised:
        judged(answer, attempt=attempt, **options)
    return raised.value


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
    echo = "bad token s3cret-token with s3cret-key at ?sig=s3cret-query: " + "x" * 1000
    message = str(refusal(401, "Unauthorized", echo))
    assert "s3cret" not in message
    assert "bad token *** with *** at ?***" in message
    assert len(message) < 300


def test_a_secret_on_the_edge_of_the_cut_is_not_shown_in_part() -> None:
    assert "s3c" not in str(refusal(401, "Unauthorized", "x" * 195 + "s3cret-token"))


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


def test_an_answer_shows_neither_its_headers_nor_its_body() -> None:
    answer = HttpAnswer(200, "OK", {"set-cookie": "s3cret"}, b"s3cret")
    assert repr(answer) == "<HttpAnswer HTTP/1.1 200 OK, 6 bytes>"
