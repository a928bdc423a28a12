from __future__ import annotations

import pytest

from asyncsink import FailureKind
from asyncsink_http import HttpOptions
from asyncsink_http.errors import CERTIFICATE, CONNECT, CONNECTION_LOST, ERRORS, INVALID_REQUEST, is_stored, refusal

THROTTLED, RETRYABLE = FailureKind.THROTTLED, FailureKind.RETRYABLE
REJECTED, FATAL = FailureKind.REJECTED, FailureKind.FATAL

OPTIONS = HttpOptions(
    url="https://api.example.com/rows?sig=s3cret-query",
    bearer_token="s3cret-token",
    headers={"X-Api-Key": "s3cret-key"},
)


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (THROTTLED, [429]),
        (RETRYABLE, [408, 425, 500, 502, 503, 504, 507, 520, 599, CONNECT, CONNECTION_LOST]),
        (REJECTED, [400, 409, 412, 413, 418, 422, 424, 499]),
        (FATAL, [207, 300, 301, 302, 303, 304, 307, 308, 401, 402, 403, 404, 405, 406, 407, 410, 411, 414, 415, 417]),
        (FATAL, [421, 426, 431, 451, 501, 505, CERTIFICATE, INVALID_REQUEST]),
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
