"""What the fakes refuse, in the services' own words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from asyncsink_testing.aws import FirehoseFake, KinesisFake, ShardModel
from asyncsink_testing.aws.calls import AwsCall
from asyncsink_testing.http_server import FaultyHttpServer, serving

from .clients import SECRETS, client, put, put_batch, refusal_of

KIB, MIB = 1024, 1024 * 1024


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyHttpServer]:
    with serving(KinesisFake(secrets=SECRETS).react) as started:
        yield started


@pytest.fixture(scope="module")
def kinesis(server: FaultyHttpServer) -> Any:
    return client("kinesis", server.url)


@pytest.fixture(scope="module")
def firehose() -> Iterator[Any]:
    with serving(FirehoseFake(secrets=SECRETS).react) as started:
        yield client("firehose", started.url)


VALIDATION = "1 validation error detected: Value at '%s' failed to satisfy constraint: Member must have length %s"


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        pytest.param(
            lambda sender: put(sender, *[b"x"] * 501),
            "ValidationException",
            VALIDATION % ("records", "less than or equal to 500"),
            id="501 records",
        ),
        pytest.param(
            lambda sender: put(sender),
            "ValidationException",
            VALIDATION % ("records", "greater than or equal to 1"),
            id="no record",
        ),
        pytest.param(
            lambda sender: put(sender, b"x" * MIB),
            "ValidationException",
            VALIDATION % ("records.1.member.data", "less than or equal to 1048576"),
            id="1 MiB and the key",
        ),
        pytest.param(
            lambda sender: put(sender, *[b"x" * (MIB - 1)] * 10, b"x" * 20),
            "InvalidArgumentException",
            "Records size exceeds 10 MB limit",
            id="10 MiB with the keys",
        ),
        pytest.param(
            lambda sender: put(sender, b"x", key="k" * 257),
            "ValidationException",
            VALIDATION % ("records.1.member.partitionKey", "less than or equal to 256"),
            id="a key of 257 characters",
        ),
        pytest.param(
            lambda sender: put(sender, b"x", key=""),
            "ValidationException",
            VALIDATION % ("records.1.member.partitionKey", "greater than or equal to 1"),
            id="an empty key",
        ),
        pytest.param(
            lambda sender: put(sender, b"x", ExplicitHashKey=str(1 << 128)),
            "InvalidArgumentException",
            "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was "
            f"{1 << 128}",
            id="a hash key beyond the last",
        ),
        pytest.param(
            lambda sender: sender.put_records(StreamName="other", Records=[{"Data": b"x", "PartitionKey": "k"}]),
            "ResourceNotFoundException",
            "Stream other under account 123456789012 not found.",
            id="another stream",
        ),
        pytest.param(
            lambda sender: sender.describe_limits(),
            "UnknownOperationException",
            "Kinesis_20131202.DescribeLimits is not known here.",
            id="another operation",
        ),
    ],
)
def test_kinesis_refuses(kinesis: Any, call: Callable[[Any], object], code: str, message: str) -> None:
    assert refusal_of(lambda: call(kinesis)) == (code, message)


NO_BASE64 = "'hello' can not be converted to a Blob: it is no base64"
NO_DATA = "1 validation error detected: Value at 'records.2.member.data' failed to satisfy constraint: Member must not"


@pytest.mark.parametrize(
    ("fake", "fields"),
    [
        (KinesisFake(), {"StreamName": "rows"}),
        (FirehoseFake(), {"DeliveryStreamName": "rows"}),
    ],
)
@pytest.mark.parametrize(
    ("record", "code", "message"),
    [({"Data": "hello"}, "SerializationException", NO_BASE64), ({}, "ValidationException", NO_DATA)],
)
def test_a_record_without_base64_is_refused(
    fake: KinesisFake | FirehoseFake, fields: dict[str, Any], record: dict[str, Any], code: str, message: str
) -> None:
    records = [{"Data": "aGVsbG8=", "PartitionKey": "k"}, {"PartitionKey": "k", **record}]
    answer = fake.check(AwsCall(fake.target, fake.several, {**fields, "Records": records}))
    assert answer is not None
    told = json.loads(answer.body)
    assert told["__type"] == code
    assert message in told["message"]


@pytest.mark.parametrize("hash_key", ["007", "-1", "\u00b2", "1" * 40, ""])
def test_a_hash_key_that_is_no_number_as_the_service_writes_it_is_refused(kinesis: Any, hash_key: str) -> None:
    code, message = refusal_of(lambda: put(kinesis, b"x", ExplicitHashKey=hash_key))
    assert code == "ValidationException"
    assert "records.1.member.explicitHashKey" in message


def test_kinesis_takes_all_that_the_limits_allow(kinesis: Any) -> None:
    assert put(kinesis, *[b"x"] * 500, key="ü" * 256)["FailedRecordCount"] == 0
    assert put(kinesis, *[b"x" * (MIB - 1)] * 10)["FailedRecordCount"] == 0
    assert put(kinesis, b"x", ExplicitHashKey=str((1 << 128) - 1))["FailedRecordCount"] == 0


def test_a_stream_may_have_other_limits_which_its_description_tells() -> None:
    fake = KinesisFake(max_record_bytes=2 * MIB, max_request_bytes=5 * MIB)
    with serving(fake.react) as server:
        sender = client("kinesis", server.url)
        assert put(sender, b"x" * (2 * MIB - 1))["FailedRecordCount"] == 0
        assert refusal_of(lambda: put(sender, *[b"x" * 2_000_000] * 3)) == (
            "InvalidArgumentException",
            "Records size exceeds 5 MB limit",
        )
        told = sender.describe_stream_summary(StreamARN=fake.arn)["StreamDescriptionSummary"]
        assert told["MaxRecordSizeInKiB"] == 2048


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        pytest.param(
            lambda sender: put_batch(sender, *[b"x"] * 501),
            "ValidationException",
            VALIDATION % ("records", "less than or equal to 500"),
            id="501 records",
        ),
        pytest.param(
            lambda sender: put_batch(sender, b"y", b"x" * (1000 * KIB + 1)),
            "ValidationException",
            VALIDATION % ("records.2.member.data", "less than or equal to 1024000"),
            id="more than 1000 KiB",
        ),
        pytest.param(
            lambda sender: put_batch(sender, *[b"x" * 1000 * KIB] * 4, b"x" * 100_000),
            "InvalidArgumentException",
            "Records size exceeds 4 MB limit",
            id="more than 4 MiB",
        ),
        pytest.param(
            lambda sender: sender.describe_delivery_stream(DeliveryStreamName="other"),
            "ResourceNotFoundException",
            "Firehose other under account 123456789012 not found.",
            id="another stream",
        ),
    ],
)
def test_firehose_refuses(firehose: Any, call: Callable[[Any], object], code: str, message: str) -> None:
    assert refusal_of(lambda: call(firehose)) == (code, message)


def test_firehose_takes_all_that_the_limits_allow(firehose: Any) -> None:
    assert put_batch(firehose, *[b"x" * 1000 * KIB] * 4)["FailedPutCount"] == 0
    assert put_batch(firehose, *[b"x"] * 500)["FailedPutCount"] == 0


@pytest.mark.parametrize(
    ("signer", "code", "part"),
    [
        ({"region": "eu-west-1"}, "InvalidSignatureException", "Credential should be scoped to a valid region"),
        ({"secret": "another"}, "InvalidSignatureException", "does not match the signature you provided"),
        (
            {"key": "AKIDUNKNOWN"},
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
    ],
)
def test_a_signature_must_be_the_right_one(server: FaultyHttpServer, signer: Any, code: str, part: str) -> None:
    told = refusal_of(lambda: put(client("kinesis", server.url, **signer), b"x"))
    assert told[0] == code
    assert part in told[1]


@pytest.mark.parametrize("operation", ["put_records", "describe_stream_summary"])
def test_a_request_must_be_signed(server: FaultyHttpServer, operation: str) -> None:
    from botocore import UNSIGNED

    sender = client("kinesis", server.url)
    sender.meta.events.register("choose-signer.kinesis.*", lambda **_: UNSIGNED)
    records = {"Records": [{"Data": b"x", "PartitionKey": "k"}]} if operation == "put_records" else {}
    told = refusal_of(lambda: getattr(sender, operation)(StreamName="rows", **records))
    assert told == ("MissingAuthenticationTokenException", "Missing Authentication Token")


def test_a_hot_shard_throttles_its_own_records_and_no_others() -> None:
    fake = KinesisFake(shards=ShardModel(2, records_per_s=3, bytes_per_s=None, clock=lambda: 0.0))
    low, high = "0", str((1 << 128) - 1)
    with serving(fake.react) as server:
        entries = [{"Data": b"x", "PartitionKey": "k", "ExplicitHashKey": each} for each in [low] * 5 + [high] * 2]
        told = client("kinesis", server.url).put_records(StreamName="rows", Records=entries)
    assert [each.get("ErrorCode") for each in told["Records"][3:5]] == ["ProvisionedThroughputExceededException"] * 2
    assert told["FailedRecordCount"] == fake.refused == 2
    sentence = "Rate exceeded for shard shardId-000000000000 in stream rows under account 123456789012."
    assert told["Records"][3]["ErrorMessage"] == sentence
    assert [each.shard_id[-1] for each in fake.records] == ["0", "0", "0", "1", "1"]
