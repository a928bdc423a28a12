"""What each code means, on the wire: a stub answers it, and the writer does what the table says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import (
    AsyncSinkWriter,
    DestinationUnavailableError,
    FailureKind,
    FatalRequestError,
    RequestRejectedError,
    RetryPolicy,
)
from asyncsink_kinesis import KinesisSink
from asyncsink_kinesis.errors import ERRORS, UNREADABLE_ANSWER
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction
from asyncsink_testing.aws import KinesisFake, answered, refused

pytestmark = pytest.mark.anyio

SECRET = "c2VjcmV0LWtleQ"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def writer_to(server: FaultyHttpServer, timeout_s: float = 30.0, **options: Any) -> AsyncSinkWriter[Any, Any]:
    retry = RetryPolicy(timeout_s=timeout_s, initial_backoff_s=0.001, max_backoff_s=0.01)
    values = {
        "stream_name": "rows",
        "region": "us-east-1",
        "endpoint": server.url,
        "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": SECRET,
    }
    return KinesisSink(config=replace(KinesisSink.defaults, retry=retry), **(values | options)).open()


class Stub:
    """A stream whose PutRecords gets these answers, one after the other, before it stores."""

    def __init__(self, *answers: Reaction, fake: KinesisFake | None = None) -> None:
        self.fake = fake or KinesisFake()
        self.puts = 0
        self._answers = iter(answers)

    def __call__(self, request: HttpRequest) -> Reaction:
        if not request.headers["x-amz-target"].endswith("PutRecords"):
            return self.fake.react(request)
        self.puts += 1
        return next(self._answers, None) or self.fake.react(request)

    @property
    def stored(self) -> list[bytes]:
        return [each.data for each in self.fake.records]


def one_by_one(code: str) -> Reaction:
    """The answer for two records, the second of which has failed."""
    stored = {"SequenceNumber": "1", "ShardId": "shardId-000000000000"}
    failed = {"ErrorCode": code, "ErrorMessage": "said of the record"}
    return answered({"FailedRecordCount": 1, "Records": [stored, failed]})


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "InternalFailure", "KMSThrottlingException"]
)
async def test_a_record_that_failed_goes_again_and_no_other(code: str) -> None:
    stub = Stub(one_by_one(code))
    async with FaultyHttpServer(stub) as server, writer_to(server) as writer:
        await writer.write_many([b"first", b"second"])
    assert stub.stored == [b"second"]
    assert stub.puts == 2


THROTTLED = [
    "ProvisionedThroughputExceededException",
    "KMSThrottlingException",
    "LimitExceededException",
    "ThrottlingException",
]
RETRYABLE = [
    ("RequestTimeout", 400),
    ("RequestExpired", 400),
    ("InternalFailure", 500),
    ("InternalFailureException", 500),
    ("ServiceUnavailable", 503),
    ("SomethingNew", 500),
]


@pytest.mark.parametrize(("code", "status"), [*[(code, 400) for code in THROTTLED], *RETRYABLE])
async def test_what_passes_is_repeated_until_it_is_stored(code: str, status: int) -> None:
    stub = Stub(refused(code, "Later.", status), refused(code, "Later.", status))
    async with FaultyHttpServer(stub) as server, writer_to(server) as writer:
        await writer.write(b"row")
    assert stub.stored == [b"row"]
    assert stub.puts == 3
    kind = FailureKind.THROTTLED if code in THROTTLED else FailureKind.RETRYABLE
    assert ERRORS.kind_of(code) in (kind, None)


async def test_an_answer_that_cannot_be_read_is_repeated() -> None:
    stub = Stub(answered({"FailedRecordCount": 1, "Records": []}))
    async with FaultyHttpServer(stub) as server, writer_to(server) as writer:
        await writer.write(b"row")
    assert stub.stored == [b"row"]
    assert ERRORS.kind_of(UNREADABLE_ANSWER) is FailureKind.RETRYABLE


async def test_what_does_not_pass_ends_with_the_last_sentence_of_the_service() -> None:
    stub = Stub(*[refused("ServiceUnavailable", "Not today.", 503)] * 1000)
    async with FaultyHttpServer(stub) as server:
        with pytest.raises(DestinationUnavailableError, match="Not today"):
            async with writer_to(server, timeout_s=0.2) as writer:
                await writer.write(b"row")


# What the user has to do stands in the message, as does what the service says and where.
FATAL = {
    "ResourceNotFoundException": ("Stream rows under account 123456789012 not found.", "Check streamName and region"),
    "AccessDeniedException": ("User: x is not authorized to perform: kinesis:PutRecords", "Allow the action named"),
    "UnrecognizedClientException": ("The security token included in the request is invalid.", "Check the credentials"),
    "InvalidSignatureException": ("The request signature we calculated does not match", "Check the credentials"),
    "KMSAccessDeniedException": ("The ciphertext refers to a key", "Allow the sender kms:GenerateDataKey"),
    "KMSDisabledException": ("Key arn:aws:kms:::key/1 is disabled.", "Enable the KMS key that encrypts the stream"),
    "KMSInvalidStateException": ("Key is pending deletion.", "into the state Enabled"),
    "KMSNotFoundException": ("Key does not exist.", "KMS key that encrypts the stream"),
    "KMSOptInRequired": ("The AWS Access Key Id needs a subscription.", "Subscribe the account to AWS KMS"),
}


@pytest.mark.parametrize("code", sorted(FATAL))
async def test_what_no_retry_mends_fails_at_once_with_a_remedy(code: str) -> None:
    said, remedy = FATAL[code]
    stub = Stub(*[refused(code, said)] * 10)
    async with FaultyHttpServer(stub) as server:
        with pytest.raises(FatalRequestError) as caught:
            async with writer_to(server) as writer:
                await writer.write(b"payload")
    message = str(caught.value)
    for part in (code, said, remedy, "'rows'", "127.0.0.1"):
        assert part in message
    assert message.count(code) <= 2
    assert SECRET not in message
    assert "payload" not in message
    assert stub.puts == 1


@pytest.mark.parametrize("code", ["ValidationException", "InvalidArgumentException"])
async def test_a_request_that_is_refused_for_one_record_is_halved_until_it_is_alone(code: str) -> None:
    def react(request: HttpRequest) -> Reaction:
        call = json.loads(request.body)
        if any(each["PartitionKey"] == "bad" for each in call.get("Records", ())):
            return refused(code, "Value at 'records' failed to satisfy constraint")
        return fake.react(request)

    fake = KinesisFake()
    rows = [{"id": number, "partitionKey": "bad" if number == 5 else "good"} for number in range(8)]
    async with FaultyHttpServer(react) as server:
        with pytest.raises(RequestRejectedError, match="failed to satisfy constraint"):
            async with writer_to(server) as writer:
                await writer.write_many(rows)
    assert sorted(json.loads(each.data)["id"] for each in fake.records) == [0, 1, 2, 3, 4, 6, 7]


async def test_a_request_that_an_older_limit_refuses_is_halved_and_stored() -> None:
    stub = Stub(fake=KinesisFake(max_request_bytes=1024 * 1024))
    async with FaultyHttpServer(stub) as server, writer_to(server) as writer:
        await writer.write_many([b"x" * 300_000] * 6)
    assert len(stub.stored) == 6
    assert stub.puts > 1


async def test_credentials_that_have_expired_and_are_not_renewed_are_said_to_be() -> None:
    stub = Stub(*[refused("ExpiredTokenException", "The security token included in the request is expired")] * 10)
    async with FaultyHttpServer(stub) as server:
        with pytest.raises(FatalRequestError, match="credentials have expired, and the same are found again"):
            async with writer_to(server) as writer:
                await writer.write(b"row")


async def test_a_wrong_region_is_told_before_anything_is_written() -> None:
    async with FaultyHttpServer(KinesisFake().react) as server:
        with pytest.raises(FatalRequestError, match=r"'rows' .*valid region.*region"):
            async with writer_to(server, region="eu-west-1"):
                pass


async def test_a_wrong_secret_is_told_without_showing_it() -> None:
    fake = KinesisFake(secrets={"AKIDEXAMPLE": "another"})
    async with FaultyHttpServer(fake.react) as server:
        with pytest.raises(
            FatalRequestError, match=r"signature we calculated does not match .*Check the cred"
        ) as caught:
            async with writer_to(server):
                pass
    assert SECRET not in str(caught.value)


async def test_a_wrong_role_is_told_with_what_sts_says() -> None:
    denied = "User: arn:aws:iam::123456789012:user/spark is not authorized to perform: sts:AssumeRole"

    def react(request: HttpRequest) -> Reaction:
        if b"AssumeRole" not in request.body:
            return fake.react(request)
        body = f"<ErrorResponse><Error><Code>AccessDenied</Code><Message>{denied}</Message></Error></ErrorResponse>"
        return Reaction.refuse(403, body.encode(), {"Content-Type": "text/xml"})

    fake = KinesisFake()
    async with FaultyHttpServer(react) as server:
        role: dict[str, Any] = {"role_arn": "arn:aws:iam::123456789012:role/writer", "sts_endpoint": server.url}
        with pytest.raises(FatalRequestError, match=r"AssumeRole.*not authorized to perform: sts:AssumeRole.*roleArn"):
            async with writer_to(server, **role):
                pass


@pytest.mark.parametrize("code", sorted(ERRORS.fatal))
def test_each_fatal_code_has_a_remedy_that_is_a_sentence(code: str) -> None:
    remedy = ERRORS.remedy(code)
    assert remedy[0].isupper()
    assert remedy.endswith(".")
