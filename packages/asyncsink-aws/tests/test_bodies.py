"""The JSON of a request: what botocore's own serializer would say, whatever the texts hold."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from asyncsink_aws.bodies import body_of


def read(body: bytes) -> dict[str, Any]:
    request: dict[str, Any] = json.loads(body)
    for record in request["Records"]:
        record["Data"] = base64.b64decode(record["Data"], validate=True)
    return request


def test_a_body_holds_head_data_and_texts() -> None:
    body = body_of({"StreamName": "clicks"}, [b"one", b"", b"\xff\x00"], {"PartitionKey": ["a", "b", "ü"]})
    assert read(body) == {
        "StreamName": "clicks",
        "Records": [
            {"Data": b"one", "PartitionKey": "a"},
            {"Data": b"", "PartitionKey": "b"},
            {"Data": b"\xff\x00", "PartitionKey": "ü"},
        ],
    }


def test_a_body_may_hold_data_alone() -> None:
    body = body_of({"DeliveryStreamName": "clicks"}, [memoryview(b"one"), b"two"])
    assert body == b'{"DeliveryStreamName":"clicks","Records":[{"Data":"b25l"},{"Data":"dHdv"}]}'


def test_a_text_may_be_left_out_of_some_records() -> None:
    texts = {"PartitionKey": ["a", "b", "c"], "ExplicitHashKey": [None, "7", None]}
    assert read(body_of({"StreamARN": "arn"}, [b"1", b"2", b"3"], texts))["Records"] == [
        {"Data": b"1", "PartitionKey": "a"},
        {"Data": b"2", "PartitionKey": "b", "ExplicitHashKey": "7"},
        {"Data": b"3", "PartitionKey": "c"},
    ]


def test_a_text_may_be_left_out_of_all_records() -> None:
    texts = {"ExplicitHashKey": [None, None], "PartitionKey": ["a", "b"]}
    assert read(body_of({"StreamName": "s"}, [b"1", b"2"], texts))["Records"] == [
        {"Data": b"1", "PartitionKey": "a"},
        {"Data": b"2", "PartitionKey": "b"},
    ]


def test_a_body_of_no_records_is_refused() -> None:
    with pytest.raises(ValueError, match="a body of no records was asked for"):
        body_of({"StreamName": "s"}, [])


def test_texts_of_quotes_commas_and_backslashes_stay_apart() -> None:
    random_of = random.Random(7)
    for _ in range(2_000):
        count = random_of.randint(1, 5)
        keys = ["".join(random_of.choices('",\\a{}:\n\x00é', k=random_of.randint(0, 4))) for _ in range(count)]
        hash_keys = [random_of.choice([None, '",', "7"]) for _ in range(count)]
        body = body_of({"StreamName": 's"'}, [b"x"] * count, {"PartitionKey": keys, "ExplicitHashKey": hash_keys})
        records = read(body)["Records"]
        assert [each["PartitionKey"] for each in records] == keys
        assert [each.get("ExplicitHashKey") for each in records] == hash_keys


def test_a_text_for_each_record_is_asked_for() -> None:
    with pytest.raises(ValueError, match="field PartitionKey has 1 values for 2 records; give one for each"):
        body_of({"StreamName": "s"}, [b"1", b"2"], {"PartitionKey": ["a"]})
