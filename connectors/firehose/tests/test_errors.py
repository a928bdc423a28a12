"""Each row of the table, as it comes over the wire, and what the task says when it ends."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable

import pytest

from asyncsink import ConfigurationError, FailureKind, FatalRequestError, RequestRejectedError
from asyncsink_firehose import FirehoseSink
from asyncsink_firehose.errors import ERRORS
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction
from asyncsink_testing.aws import FirehoseFake, answered, refused

from .streams import writing

pytestmark = pytest.mark.anyio

THROTTLED, RETRYABLE = FailureKind.THROTTLED, FailureKind.RETRYABLE
REJECTED, FATAL = FailureKind.REJECTED, FailureKind.FATAL


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def is_put(request: HttpRequest) -> bool:
    return request.headers["x-amz-target"].endswith(".PutRecordBatch")


class Answering:
    """A stream that answers its first requests so; the calls that ask are answered as they should."""

    def __init__(self, stream: FirehoseFake, *answers: Reaction, then: Reaction | None = None) -> None:
        self._stream, self._answers, self._then = stream, [*answers], then
        self.puts = 0

    def __call__(self, request: HttpRequest) -> Reaction:
        if not is_put(request):
            return self._stream.react(request)
        self.puts += 1
        if self._answers:
            return self._answers.pop(0)
        return self._then or self._stream.react(request)


async def write(rule: Answering, rows: int = 4, **options: object) -> None:
    async with FaultyHttpServer(rule) as server:
        async with writing(server, {"max_in_flight_requests": 1}, **options) as writer:
            await writer.write_many([{"id": number} for number in range(rows)])


def ids(records: Iterable[bytes]) -> Counter[int]:
    return Counter(json.loads(record)["id"] for record in records)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ServiceUnavailableException", 503, THROTTLED),
        ("LimitExceededException", 400, THROTTLED),
        ("ThrottlingException", 400, THROTTLED),
        ("InternalFailure", 500, RETRYABLE),
        ("ServiceUnavailable", 503, RETRYABLE),
        ("RequestExpired", 400, RETRYABLE),
    ],
)
async def test_what_passes_is_waited_for(code: str, status: int, kind: FailureKind) -> None:
    assert ERRORS.kind_of(code) is kind
    stream = FirehoseFake()
    answer = refused(code, "Not now.", status)
    rule = Answering(stream, answer, answer)
    await write(rule)
    assert ids(stream.records) == Counter(range(4))
    assert rule.puts == 3


async def test_a_token_that_has_expired_and_is_given_again_ends_the_task() -> None:
    assert ERRORS.kind_of("ExpiredTokenException") is RETRYABLE
    rule = Answering(FirehoseFake(), then=refused("ExpiredTokenException", "The security token has expired."))
    with pytest.raises(
        FatalRequestError, match=r"the credentials have expired, and the same are found again .* give new"
    ):
        await write(rule)


@pytest.mark.parametrize("code", ["InvalidArgumentException", "ValidationException", "SerializationException"])
async def test_what_speaks_of_the_rows_rejects_them(code: str) -> None:
    assert ERRORS.kind_of(code) is REJECTED
    rule = Answering(FirehoseFake(), then=refused(code, "The data is not valid."))
    with pytest.raises(RequestRejectedError, match=rf"{code}: .*PutRecordBatch.*'rows'.*The data is not valid"):
        await write(rule, rows=1)


@pytest.mark.parametrize(
    ("code", "message", "remedy"),
    [
        ("ResourceNotFoundException", "Firehose rows not found.", "Check deliveryStream, region and the account"),
        ("InvalidSourceException", "Only requests from CloudWatch Logs are supported.", "turn its decompression off"),
        ("InvalidKMSResourceException", "The key is disabled.", "enable the key, or allow Firehose and the writer"),
        ("KMSDisabledException", "The key is disabled.", "Enable the KMS key"),
        ("AccessDeniedException", "User: me is not authorized to perform: firehose:PutRecordBatch", "Allow the action"),
        ("UnrecognizedClientException", "The security token included in the request is invalid.", "Check the cred"),
        ("InvalidSignatureException", "The request signature we calculated does not match.", "accessKeyId, secret"),
    ],
)
async def test_what_no_retry_can_mend_ends_the_task_with_the_remedy(code: str, message: str, remedy: str) -> None:
    assert ERRORS.kind_of(code) is FATAL
    rule = Answering(FirehoseFake(), then=refused(code, message))
    with pytest.raises(FatalRequestError) as found:
        await write(rule)
    assert rule.puts == 1
    for part in (code, message.rstrip("."), "PutRecordBatch", "'rows'", remedy):
        assert part in str(found.value)
    assert "wJalrXUtnFEMI" not in str(found.value)


async def test_a_stream_that_is_fed_otherwise_is_not_taken_for_rows_at_fault() -> None:
    told = "This operation is not permitted on KinesisStreamAsSource delivery stream type."
    rule = Answering(FirehoseFake(), then=refused("InvalidArgumentException", told))
    with pytest.raises(FatalRequestError, match=r"NOT_DIRECT_PUT: .*KinesisStreamAsSource.*Direct PUT"):
        await write(rule)
    assert rule.puts == 1


@pytest.mark.parametrize("ready_bodies", [True, False])
async def test_an_answer_that_does_not_speak_of_every_record_is_no_success(ready_bodies: bool) -> None:
    assert ERRORS.kind_of("INCOMPLETE_ANSWER") is RETRYABLE
    stream = FirehoseFake()
    short = answered({"FailedPutCount": 1, "RequestResponses": [{"ErrorCode": "InternalFailure"}]})
    rule = Answering(stream, answered({}), short)
    await write(rule, ready_bodies=ready_bodies)
    assert ids(stream.records) == Counter(range(4))
    assert rule.puts == 3


async def test_a_code_of_a_record_that_nobody_knows_is_tried_again_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stream = FirehoseFake()
    partly = answered({"FailedPutCount": 4, "RequestResponses": [{"ErrorCode": "SomethingNew"}] * 4})
    with caplog.at_level(logging.WARNING):
        await write(Answering(stream, partly))
    assert ids(stream.records) == Counter(range(4))
    assert "'SomethingNew' is not in its ErrorTable" in caplog.text


async def test_a_wrong_region_is_told_by_the_signature() -> None:
    stream = FirehoseFake(region="eu-west-1")
    async with FaultyHttpServer(stream.react) as server:
        with pytest.raises(FatalRequestError, match=r"delivery stream 'rows' cannot be written to: .*region"):
            async with writing(server):
                pass


async def test_without_a_region_the_sink_says_which_option_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(ConfigurationError, match="region"):
        async with FirehoseSink(delivery_stream="rows", endpoint="http://127.0.0.1:1").open():
            pass


async def test_a_role_that_cannot_be_assumed_is_told_as_such() -> None:
    denied = refused("AccessDenied", "User: me is not authorized to perform: sts:AssumeRole on resource: writer", 403)
    body = (
        b"<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User: me is not authorized to "
        b"perform: sts:AssumeRole</Message></Error></ErrorResponse>"
    )
    sts = Reaction.refuse(denied.status, body, {"Content-Type": "text/xml"})
    async with FaultyHttpServer(FirehoseFake().react) as server, FaultyHttpServer(lambda request: sts) as tokens:
        with pytest.raises(FatalRequestError, match=r"sts:AssumeRole.*Check roleArn and roleExternalId"):
            async with writing(
                server, role_arn="arn:aws:iam::123456789012:role/writer", sts_endpoint=tokens.url
            ) as writer:
                await writer.write({"id": 1})
