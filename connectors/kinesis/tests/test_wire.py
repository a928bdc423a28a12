"""The wire: what a body says, by both ways to make it, and what an answer means."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import botocore.session
import pyarrow as pa
import pytest
from botocore.serialize import create_serializer
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import FailureKind, RequestError, RequestResult
from asyncsink.blocks import EntryBlock, ListBlock
from asyncsink_aws.arn import StreamName
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.columns import records_block
from asyncsink_kinesis.errors import ERRORS, UNREADABLE_ANSWER
from asyncsink_kinesis.wire import (
    decode_answer,
    decode_places,
    plain_records,
    ready_body,
    result_of,
    stream_parameters,
)

SINK = KinesisSink(stream_name="clicks")
BY_NAME = {"StreamName": "clicks"}
ENTRIES = st.lists(
    st.builds(
        KinesisEntry,
        st.binary(max_size=400),
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=20) | st.sampled_from(['"', '","', "\\", "\n", "é"]),
        st.none() | st.integers(0, 2**128 - 1).map(str),
    ),
    min_size=1,
    max_size=10,
)


def arrow_block(entries: Sequence[KinesisEntry]) -> EntryBlock[KinesisEntry]:
    data, keys, hash_keys = zip(*entries, strict=True)
    hashes = None if set(hash_keys) == {None} else pa.array(hash_keys, pa.string())
    return records_block(pa.array(data, pa.binary()), pa.array(keys), hashes)


def list_block(entries: Sequence[KinesisEntry]) -> EntryBlock[KinesisEntry]:
    return ListBlock(entries, SINK.sizes(entries))


@cache
def service_model() -> Any:
    return botocore.session.get_session().get_service_model("kinesis")


def by_botocore(stream: dict[str, str], records: list[dict[str, Any]]) -> Any:
    """The body that botocore's own serializer writes, decoded."""
    service = service_model()
    serializer = create_serializer("json", include_validation=True)
    made = serializer.serialize_to_request({**stream, "Records": records}, service.operation_model("PutRecords"))
    return json.loads(made["body"])


@given(ENTRIES, st.booleans(), st.sampled_from([BY_NAME, {"StreamARN": "arn:aws:kinesis:eu-west-1:1:stream/a"}]))
def test_both_ways_put_the_same_meaning_on_the_wire(
    entries: list[KinesisEntry], arrow: bool, stream: dict[str, str]
) -> None:
    block = (arrow_block if arrow else list_block)(entries)
    assert json.loads(ready_body(stream, block)) == by_botocore(stream, plain_records(block))


def test_a_body_of_a_part_of_a_batch_holds_that_part() -> None:
    entries = [KinesisEntry(str(n).encode(), f"k{n}", str(n) if n % 2 else None) for n in range(10)]
    block = arrow_block(entries).slice(3, 6)
    records = json.loads(ready_body(BY_NAME, block))["Records"]
    assert [record["PartitionKey"] for record in records] == ["k3", "k4", "k5"]
    assert [record.get("ExplicitHashKey") for record in records] == ["3", None, "5"]


def test_a_stream_goes_by_its_name_or_its_arn() -> None:
    arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/clicks"
    assert stream_parameters(StreamName("clicks", None)) == {"StreamName": "clicks"}
    assert stream_parameters(StreamName(None, arn)) == {"StreamARN": arn}


STORED = {"SequenceNumber": "1", "ShardId": "shardId-000000000000"}
FAILED = {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "Rate exceeded for shard"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"FailedRecordCount":0,"Records":[{"SequenceNumber":"1","ShardId":"s"}]}',
        b'{"EncryptionType":"KMS","FailedRecordCount": 0 ,"Records":[]}',
        b'{"Records":[{"SequenceNumber":"1","ShardId":"s"}],"FailedRecordCount":0}',
    ],
)
def test_an_answer_that_stores_all_is_known_without_being_parsed(body: bytes) -> None:
    answer = decode_answer(body)
    assert answer is not None
    assert answer["Records"] == ()
    assert result_of(answer, 500) is RequestResult.OK


@pytest.mark.parametrize("count", [1, 10, 100])
def test_a_count_that_begins_with_zero_is_told_from_others(count: int) -> None:
    records = [FAILED] * count
    answer = decode_answer(json.dumps({"FailedRecordCount": count, "Records": records}).encode())
    assert answer is not None
    assert len(result_of(answer, count).failed) == count


def test_a_message_that_quotes_an_answer_is_none() -> None:
    told = {"ErrorCode": "InternalFailure", "ErrorMessage": '{"FailedRecordCount":0,'}
    answer = decode_answer(json.dumps({"FailedRecordCount": 1, "Records": [told]}).encode())
    assert answer is not None
    assert result_of(answer, 1).failed[0].code == "InternalFailure"


def both(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer as botocore parses it, and as we do."""
    ours = decode_places(json.dumps(answer).encode())
    assert ours is not None
    return [answer, ours]


def test_codes_are_read_by_index_from_either_parser() -> None:
    internal = {"ErrorCode": "InternalFailure", "ErrorMessage": "Internal Service Failure"}
    for answer in both({"FailedRecordCount": 2, "Records": [STORED, FAILED, STORED, internal]}):
        failed = result_of(answer, 4).failed
        assert {index: (each.code, each.message) for index, each in failed.items()} == {
            1: ("ProvisionedThroughputExceededException", "Rate exceeded for shard"),
            3: ("InternalFailure", "Internal Service Failure"),
        }
        kinds = [ERRORS.kind_of(each.code) for each in failed.values()]
        assert kinds == [FailureKind.THROTTLED, FailureKind.RETRYABLE]


def test_a_code_counts_whatever_the_sum_says() -> None:
    for answer in both({"Records": [FAILED, STORED]}):
        assert list(result_of(answer, 2).failed) == [0]


@pytest.mark.parametrize(
    "answer",
    [
        {"FailedRecordCount": 1, "Records": [FAILED]},
        {"FailedRecordCount": 1, "Records": [FAILED, STORED, STORED]},
        {"FailedRecordCount": 1, "Records": [STORED, STORED]},
        {"FailedRecordCount": 1, "Records": []},
    ],
)
def test_an_answer_that_leaves_a_record_out_is_no_answer(answer: dict[str, Any]) -> None:
    for each in both(answer):
        with pytest.raises(RequestError) as caught:
            result_of(each, 2)
        assert caught.value.code == UNREADABLE_ANSWER
        assert ERRORS.kind_of(caught.value.code) is FailureKind.RETRYABLE


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>", b'{"Records":7}', b'{"Records":[{"ErrorCode":7}]}'])
def test_what_is_no_answer_is_left_to_botocore(body: bytes) -> None:
    assert decode_answer(body) is None


def test_places_are_told_where_they_are_asked_for() -> None:
    answer = decode_places(json.dumps({"FailedRecordCount": 0, "Records": [STORED]}).encode())
    assert answer is not None
    assert (answer["Records"][0].ShardId, answer["Records"][0].SequenceNumber) == ("shardId-000000000000", "1")
