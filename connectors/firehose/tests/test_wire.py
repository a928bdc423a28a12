"""The body that goes past botocore's serializer, and the answer past its parser: they mean what botocore's do."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink import RequestError
from asyncsink_aws.ready_bodies import ReadyBody
from asyncsink_firehose.answers import result_of
from asyncsink_firehose.wire import decode_answer, parameters

drawn = settings(deadline=None, max_examples=60)  # a busy machine breaks the usual deadline

CODES = st.none() | st.sampled_from(["ServiceUnavailableException", "InternalFailure", "KMS.Ä"])
ENTRIES = st.builds(
    lambda code, text: {"RecordId": text} if code is None else {"ErrorCode": code, "ErrorMessage": text},
    CODES,
    st.text(max_size=20),
)


@cache
def operation() -> Any:
    return botocore.session.get_session().get_service_model("firehose").operation_model("PutRecordBatch")


def sent_by_botocore(stream: str, records: list[Any]) -> Any:
    plain = parameters(stream, records, ready=False)
    return json.loads(create_serializer("json").serialize_to_request(plain, operation())["body"])


def parsed_by_botocore(body: bytes) -> Any:
    response = {"status_code": 200, "headers": {}, "body": body}
    return create_parser("json").parse(response, operation().output_shape)


@drawn
@given(
    stream=st.from_regex(r"[a-zA-Z0-9_.-]{1,64}", fullmatch=True),
    records=st.lists(st.binary(max_size=40) | st.binary(min_size=500, max_size=600), min_size=1, max_size=12),
    views=st.booleans(),
)
def test_both_paths_put_the_same_on_the_wire(stream: str, records: list[bytes], views: bool) -> None:
    given: list[Any] = [memoryview(record) for record in records] if views else records
    ready = parameters(stream, given, ready=True)
    assert isinstance(ready["Records"], ReadyBody)
    assert json.loads(ready["Records"].body) == sent_by_botocore(stream, given)
    assert ready["DeliveryStreamName"] == stream


@drawn
@given(entries=st.lists(ENTRIES, min_size=1, max_size=8), indent=st.sampled_from([None, 2]), last=st.booleans())
def test_both_paths_read_the_same_out_of_an_answer(
    entries: list[dict[str, str]], indent: int | None, last: bool
) -> None:
    count = {"Encrypted": False, "FailedPutCount": sum("ErrorCode" in each for each in entries)}
    answer = {"RequestResponses": entries, **count} if last else {**count, "RequestResponses": entries}
    body, cuts = json.dumps(answer, indent=indent).encode(), [3 * at for at in range(len(entries) + 1)]
    ready = decode_answer(body)
    assert ready is not None
    expected = {row: each.get("ErrorCode") for at, each in enumerate(entries) for row in range(3 * at, 3 * at + 3)}
    for read in (ready, parsed_by_botocore(body)):
        failed = result_of(read, cuts).failed
        assert {row: failure.code for row, failure in failed.items()} == {
            row: code for row, code in expected.items() if code
        }


def test_both_paths_doubt_an_answer_that_says_nothing() -> None:
    for read in (decode_answer(b"{}"), parsed_by_botocore(b"{}")):
        assert read is not None
        with pytest.raises(RequestError, match=r"^INCOMPLETE_ANSWER"):
            result_of(read, [0, 1])
