from __future__ import annotations

import pickle

import pytest

from asyncsink import FailureKind
from asyncsink_http import HttpOptions
from asyncsink_http.answers.codes import CERTIFICATE, CONNECT, CONNECTION_LOST, IN_PROGRESS, INVALID_REQUEST, PROXY
from asyncsink_http.answers.statuses import StatusTable, Verdict

THROTTLED, RETRYABLE = FailureKind.THROTTLED, FailureKind.RETRYABLE
REJECTED, FATAL = FailureKind.REJECTED, FailureKind.FATAL

STATUSES = StatusTable.of(HttpOptions(url="https://api.example.com/rows").resolved())
ERRORS = STATUSES.errors()


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


def test_every_status_from_200_is_stored_or_in_the_table_of_errors() -> None:
    for status in range(200, 600):
        verdict = STATUSES.verdict(status)
        kind = ERRORS.kind_of(str(status))
        assert (verdict is Verdict.STORED) if kind is None else (verdict.value == kind.value), status


def test_only_2xx_is_stored_and_answers_for_each_row_are_not() -> None:
    stored = [status for status in range(100, 700) if STATUSES.verdict(status) is Verdict.STORED]
    assert stored == [status for status in range(200, 300) if status != 207]


@pytest.mark.parametrize("status", [0, 199, 600, 999])
def test_what_is_no_status_of_http_is_fatal(status: int) -> None:
    assert STATUSES.verdict(status) is Verdict.FATAL


def test_a_table_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(STATUSES)).errors() == ERRORS
