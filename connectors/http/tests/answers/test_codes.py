from __future__ import annotations

from typing import Any

import pytest

from asyncsink import FailureKind
from asyncsink_http import HttpOptions
from asyncsink_http.answers.codes import (
    CERTIFICATE,
    CONNECT,
    CONNECTION_LOST,
    ERRORS,
    IN_PROGRESS,
    INVALID_REQUEST,
    PROXY,
    is_stored,
    refusal,
)
from asyncsink_http.redaction import redact

THROTTLED, RETRYABLE = FailureKind.THROTTLED, FailureKind.RETRYABLE
REJECTED, FATAL = FailureKind.REJECTED, FailureKind.FATAL

URL = "https://api.example.com/rows"
OPTIONS = HttpOptions(
    url="https://api.example.com/rows?sig=s3cret-query",
    bearer_token="s3cret-token",
    headers={"X-Api-Key": "s3cret-key"},
)


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (THROTTLED, [429]),
        (RETRYABLE, [408, 425, 500, 502, 503, 504, 507, 520, 599, CONNECT, CONNECTION_LOST, IN_PROGRESS]),
        (REJECTED, [400, 409, 412, 413, 418, 422, 424, 499]),
        (FATAL, [207, 300, 301, 302, 303, 304, 307, 308, 401, 402, 403, 404, 405, 406, 407, 410, 411, 414, 415, 417]),
        (FATAL, [421, 426, 431, 451, 501, 505, CERTIFICATE, INVALID_REQUEST, PROXY]),
    ],
)
def test_the_table_of_codes(kind: FailureKind, codes: list[int | str]) -> None:
    assert {code: ERRORS.kind_of(str(code)) for code in codes} == dict.fromkeys(codes, kind)


@pytest.mark.parametrize("code", sorted(ERRORS.fatal))
def test_each_fatal_code_has_a_remedy_that_is_a_sentence(code: str) -> None:
    remedy = ERRORS.remedy(code)
    assert remedy[0].isupper()
    assert remedy.endswith(".")


def test_every_status_from_200_is_stored_or_in_the_table() -> None:
    unknown = [status for status in range(200, 600) if not is_stored(status) and ERRORS.kind_of(str(status)) is None]
    assert unknown == []


def test_only_2xx_is_stored_and_answers_for_each_row_are_not() -> None:
    assert [status for status in range(100, 600) if is_stored(status)] == [s for s in range(200, 300) if s != 207]


def test_a_refusal_names_status_address_and_what_the_server_says() -> None:
    error = refusal(OPTIONS, 503, "Service Unavailable", "try\r\n  later", 2.0)
    assert (error.code, error.retry_after_s) == ("503", 2.0)
    assert str(error) == (
        '503: Service Unavailable from POST https://api.example.com/rows?***; the server says "try later".'
    )
    silent = refusal(OPTIONS, 599, "", "", None)
    assert str(silent) == "599: no reason given from POST https://api.example.com/rows?***."


def test_what_the_server_says_is_cut_and_without_secrets() -> None:
    echo = "bad token s3cret-token with s3cret-key at ?sig=s3cret-query: " + "x" * 1000
    message = str(refusal(OPTIONS, 401, "Unauthorized", echo, None))
    assert "s3cret" not in message
    assert "bad token *** with *** at ?***" in message
    assert len(message) < 300


def test_a_secret_on_the_edge_of_the_cut_is_not_shown_in_part() -> None:
    echo = "x" * 195 + "s3cret-token"
    assert "s3c" not in str(refusal(OPTIONS, 401, "Unauthorized", echo, None))


@pytest.mark.parametrize(
    ("options", "echo"),
    [
        ({"url": "https://host/x?v=7&sig=s3cret%2Bpart"}, "sig s3cret+part is stale"),
        ({"url": "https://host/x?v=7&sig=s3cret%2Bpart"}, "sig s3cret%2Bpart is stale"),
        ({"url": "https://host/x?s3cret"}, "what is s3cret?"),
        ({"username": "me", "password": "s3cret"}, "password s3cret"),
        ({"username": "Aladdin", "password": "open sesame"}, "got QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ({"username": "Aladdin", "password": "open sesame"}, "got Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ({"headers": {"Authorization": "Key s3cret"}}, "key s3cret is unknown"),
        ({"headers": {"X-Tenant": "s3cret"}}, "no tenant s3cret"),
    ],
)
def test_no_form_of_a_secret_is_shown(options: dict[str, Any], echo: str) -> None:
    shown = redact(echo, HttpOptions(**{"url": URL, **options}))
    assert "***" in shown
    assert "s3cret" not in shown
    assert "QWxhZGRpbj" not in shown


def test_short_values_are_hidden_only_where_they_stand_alone() -> None:
    options = HttpOptions(url=f"{URL}?v=1&pin=12")
    assert redact("line 10 of version 1: pin 12 is wrong, not 1200", options) == (
        "line 10 of version ***: pin *** is wrong, not 1200"
    )


@pytest.mark.parametrize(
    ("status", "remedy"), [(413, "Lower maxBatchSize or maxBatchSizeInBytes"), (422, "Check that")]
)
def test_a_rejection_tells_what_to_do_where_that_is_known(status: int, remedy: str) -> None:
    assert f"rows?***. {remedy}" in str(refusal(OPTIONS, status, "No", "", None))


def test_a_conflict_with_an_earlier_sending_of_the_same_request_is_no_rejection() -> None:
    assert refusal(OPTIONS, 409, "Conflict", "", 2.0).code == "409"
    again = refusal(OPTIONS, 409, "Conflict", "", 2.0, resent=True)
    assert (again.code, again.retry_after_s) == (IN_PROGRESS, 2.0)
    assert refusal(OPTIONS, 400, "Bad", "", None, resent=True).code == "400"
