"""The JSON of a request, the same in meaning for small payloads and for large ones, whatever the texts hold."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from asyncsink_aws.bodies import Texts, body_of

SMALL, LARGE = b"\xff\x00\x7f", b"\x00\xff" * 1_000

sizes = pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["small", "large"])


def read(body: bytes) -> dict[str, Any]:
    request: dict[str, Any] = json.loads(body)
    for record in request["Records"]:
        record["Data"] = base64.b64decode(record["Data"], validate=True)
    return request


@sizes
def test_a_body_holds_head_data_and_texts(payload: bytes) -> None:
    body = body_of({"StreamName": "clicks"}, [payload, b"", b"\xff"], {"PartitionKey": ["a", "b", "ü"]})
    assert read(body) == {
        "StreamName": "clicks",
        "Records": [
            {"Data": payload, "PartitionKey": "a"},
            {"Data": b"", "PartitionKey": "b"},
            {"Data": b"\xff", "PartitionKey": "ü"},
        ],
    }


@sizes
def test_a_body_may_hold_data_alone(payload: bytes) -> None:
    body = body_of({"DeliveryStreamName": "clicks"}, [memoryview(payload), payload])
    encoded = base64.b64encode(payload)
    assert body == b'{"DeliveryStreamName":"clicks","Records":[{"Data":"%b"},{"Data":"%b"}]}' % (encoded, encoded)


@sizes
def test_a_text_may_be_left_out_of_some_records(payload: bytes) -> None:
    texts: dict[str, Texts] = {"PartitionKey": ["a", "b", "c"], "ExplicitHashKey": [None, "7", None]}
    assert read(body_of({"StreamARN": "arn"}, [payload] * 3, texts))["Records"] == [
        {"Data": payload, "PartitionKey": "a"},
        {"Data": payload, "PartitionKey": "b", "ExplicitHashKey": "7"},
        {"Data": payload, "PartitionKey": "c"},
    ]


@sizes
def test_a_text_may_be_left_out_of_all_records(payload: bytes) -> None:
    texts: dict[str, Texts] = {"ExplicitHashKey": [None, None], "PartitionKey": ["a", "b"]}
    assert read(body_of({"StreamName": "s"}, [payload] * 2, texts))["Records"] == [
        {"Data": payload, "PartitionKey": "a"},
        {"Data": payload, "PartitionKey": "b"},
    ]


@sizes
def test_texts_of_quotes_commas_and_backslashes_stay_apart(payload: bytes) -> None:
    random_of = random.Random(7)
    for _ in range(500):
        count = random_of.randint(1, 5)
        keys = ["".join(random_of.choices('",\\a{}:\n\x00é', k=random_of.randint(0, 4))) for _ in range(count)]
        hash_keys = [random_of.choice([None, '",', "7"]) for _ in range(count)]
        body = body_of({"StreamName": 's"'}, [payload] * count, {"PartitionKey": keys, "ExplicitHashKey": hash_keys})
        records = read(body)["Records"]
        assert [each["PartitionKey"] for each in records] == keys
        assert [each.get("ExplicitHashKey") for each in records] == hash_keys


def test_a_body_of_no_records_is_refused() -> None:
    with pytest.raises(ValueError, match="a body of no records was asked for"):
        body_of({"StreamName": "s"}, [])


def test_a_text_for_each_record_is_asked_for() -> None:
    with pytest.raises(ValueError, match="field PartitionKey has 1 values for 2 records; give one for each"):
        body_of({"StreamName": "s"}, [b"1", b"2"], {"PartitionKey": ["a"]})
