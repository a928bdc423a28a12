from __future__ import annotations

import json
from typing import Any

import pytest

from asyncsink import RequestError, RequestResult
from asyncsink_firehose.answers import result_of
from asyncsink_firehose.wire import decode_answer


def test_a_record_that_failed_is_the_failure_of_each_of_its_rows() -> None:
    answer = {
        "FailedPutCount": 2,
        "RequestResponses": [
            {"RecordId": "a"},
            {"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."},
            {"RecordId": "b"},
            {"ErrorCode": "InternalFailure", "ErrorMessage": "Internal Service Failure"},
        ],
    }
    failed = result_of(answer, [0, 1, 4, 5, 6]).failed
    assert {row: (each.code, each.message) for row, each in failed.items()} == {
        1: ("ServiceUnavailableException", "Slow down."),
        2: ("ServiceUnavailableException", "Slow down."),
        3: ("ServiceUnavailableException", "Slow down."),
        5: ("InternalFailure", "Internal Service Failure"),
    }


def test_a_code_without_a_message_is_a_failure_too() -> None:
    failed = result_of({"FailedPutCount": 1, "RequestResponses": [{"ErrorCode": "InternalFailure"}]}, [0, 1]).failed
    assert (failed[0].code, failed[0].message) == ("InternalFailure", "")


@pytest.mark.parametrize("answer", [{"FailedPutCount": 0}, {"FailedPutCount": 0, "RequestResponses": [{}, {}]}])
def test_nothing_has_failed_where_no_failure_is_counted_and_no_record_has_a_code(answer: dict[str, Any]) -> None:
    assert result_of(answer, [0, 1, 2]) == RequestResult.OK


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"FailedPutCount": None, "RequestResponses": None},
        {"FailedPutCount": 1},
        {"FailedPutCount": 1, "RequestResponses": [{"ErrorCode": "InternalFailure"}]},
        {"RequestResponses": [{"RecordId": "a"}, {"RecordId": "b"}]},
        {"FailedPutCount": 1, "RequestResponses": [{"RecordId": "a"}, {"RecordId": "b"}]},
        {"FailedPutCount": 2, "RequestResponses": [{"RecordId": "a"}, {"ErrorCode": "InternalFailure"}]},
        {"FailedPutCount": 0, "RequestResponses": [{"RecordId": "a"}, {"ErrorCode": "InternalFailure"}]},
    ],
)
def test_an_answer_that_does_not_tell_of_every_record_stores_nothing_for_certain(answer: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="what answers at the endpoint may not be Firehose") as found:
        result_of(answer, [0, 1, 2])
    assert found.value.code == "INCOMPLETE_ANSWER"


STORED = {"FailedPutCount": 0, "Encrypted": False, "RequestResponses": [{"RecordId": "x" * 200}] * 500}
PARTLY = {**STORED, "FailedPutCount": 1, "RequestResponses": [{"ErrorCode": "InternalFailure"}]}


@pytest.mark.parametrize("indent", [None, 2])
def test_an_answer_that_says_stored_is_not_read_further(indent: int | None) -> None:
    assert decode_answer(json.dumps(STORED, indent=indent).encode()) == {"FailedPutCount": 0}
    assert decode_answer(b'{"Encrypted":false,"FailedPutCount":0}') == {"FailedPutCount": 0}


@pytest.mark.parametrize(
    "answer",
    [
        PARTLY,
        {"RequestResponses": STORED["RequestResponses"], "FailedPutCount": 0},
        {"Encrypted": '"FailedPutCount":0,', "FailedPutCount": 1},
        {"FailedPutCount": 10, "RequestResponses": []},
        {},
    ],
)
def test_every_other_answer_is_read_whole(answer: dict[str, Any]) -> None:
    assert decode_answer(json.dumps(answer).encode()) == answer


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"FailedPutCount":0,"RequestResp', b"null"])
def test_what_is_no_answer_is_left_to_botocore(body: bytes) -> None:
    assert decode_answer(body) is None
