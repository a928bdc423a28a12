"""What is asked of the delivery stream before rows are sent to it."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import DestinationUnavailableError, FatalRequestError
from asyncsink_aws.client import connect
from asyncsink_firehose import FirehoseOptions
from asyncsink_firehose.stream import check_stream
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction
from asyncsink_testing.aws import FirehoseFake, answered, refused

from .streams import access

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Describing:
    """A stream that describes itself so, in turn; the last description stays."""

    def __init__(self, *told: dict[str, Any] | Reaction, fake: FirehoseFake | None = None) -> None:
        self._told, self._fake = [*told], fake or FirehoseFake()
        self.asked = 0

    def __call__(self, request: HttpRequest) -> Reaction:
        assert request.headers["x-amz-target"] == "Firehose_20150804.DescribeDeliveryStream"
        self.asked += 1
        told = self._told.pop(0) if len(self._told) > 1 else self._told[0]
        if isinstance(told, Reaction):
            return told
        answer = self._fake.react(request)
        description = {**json.loads(answer.body)["DeliveryStreamDescription"], **told}
        return answered({"DeliveryStreamDescription": description})


async def check(rule: Describing, stream: str = "rows", timeout_s: float = 20.0) -> None:
    async with FaultyHttpServer(rule) as server:
        options = FirehoseOptions(delivery_stream=stream, **access(server))
        async with connect(options, "firehose", max_in_flight=1) as client:
            await check_stream(client, options, timeout_s=timeout_s, poll_s=0.001)


async def test_an_active_stream_of_direct_puts_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    rule = Describing({})
    with caplog.at_level(logging.INFO, logger="asyncsink_firehose"):
        await check(rule)
        await check(rule, stream=FirehoseFake().arn)
    assert rule.asked == 2
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("KinesisStreamAsSource", r"fed by a Kinesis stream; write to that one, with asyncsink-kinesis, or name a"),
        ("MSKAsSource", r"fed by a topic of Amazon MSK; write to that one, with asyncsink-kafka, or name a"),
        ("DatabaseAsSource", r"fed by a database; write to that one, or name a delivery stream whose source is Direct"),
        ("SomethingNew", r"fed by SomethingNew; write to that one, or name a delivery stream"),
    ],
)
async def test_a_stream_that_is_fed_otherwise_is_refused(source: str, told: str) -> None:
    with pytest.raises(FatalRequestError, match=rf"delivery stream 'rows' takes no rows from here, .*{told}"):
        await check(Describing({"DeliveryStreamType": source}))


async def test_a_stream_that_is_being_created_is_waited_for() -> None:
    rule = Describing({"DeliveryStreamStatus": "CREATING"}, {"DeliveryStreamStatus": "CREATING"}, {})
    await check(rule)
    assert rule.asked == 3


async def test_no_answer_does_not_end_the_wait_for_a_stream() -> None:
    busy = refused("LimitExceededException", "Rate exceeded")
    rule = Describing({"DeliveryStreamStatus": "CREATING"}, busy, Reaction.drop_before_storing(), {})
    await check(rule)
    assert rule.asked == 4


async def test_the_wait_for_a_stream_ends_with_the_time_for_retries() -> None:
    with pytest.raises(DestinationUnavailableError, match=r"within retry.timeout = 0.05 s: it is still being created"):
        await check(Describing({"DeliveryStreamStatus": "CREATING"}), timeout_s=0.05)


@pytest.mark.parametrize("status", ["CREATING_FAILED", "DELETING", "DELETING_FAILED"])
async def test_a_stream_that_is_not_active_is_refused_with_what_it_says_of_it(status: str) -> None:
    failure = {"Type": "CREATE_KMS_GRANT_FAILED", "Details": "no grant"}
    with pytest.raises(
        FatalRequestError, match=rf"'rows' is {status} \(CREATE_KMS_GRANT_FAILED: no grant\) and takes no"
    ):
        await check(Describing({"DeliveryStreamStatus": status, "FailureDescription": failure}))


async def test_the_stream_of_another_account_is_not_mixed_up_with_ones_own_of_that_name() -> None:
    foreign = FirehoseFake().arn.replace("123456789012", "999999999999")
    with pytest.raises(FatalRequestError, match=r"999999999999:.* is not what the credentials lead to, .* Set roleArn"):
        await check(Describing({}), stream=foreign)


@pytest.mark.parametrize(
    ("status", "warned"),
    [("ENABLED", False), ("DISABLED", False), ("ENABLING", True), ("ENABLING_FAILED", True), ("DISABLING", True)],
)
async def test_an_encryption_that_may_not_hold_is_warned_of(
    status: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    encryption = {"Status": status, "FailureDescription": {"Type": "KMS_ACCESS_DENIED", "Details": "no"}}
    with caplog.at_level(logging.WARNING, logger="asyncsink_firehose"):
        await check(Describing({"DeliveryStreamEncryptionConfiguration": encryption}))
    expected = f"encryption at rest is {status} (KMS_ACCESS_DENIED: no)"
    assert (expected in caplog.text) is warned


@pytest.mark.parametrize(
    "answer",
    [
        refused("AccessDeniedException", "User: me is not authorized to perform: firehose:DescribeDeliveryStream"),
        refused("LimitExceededException", "Rate exceeded"),
        refused("InternalFailure", "Oops", 500),
        Reaction.drop_before_storing(),
    ],
)
async def test_a_stream_that_is_not_described_is_written_to_all_the_same(
    answer: Reaction, caplog: pytest.LogCaptureFixture
) -> None:
    rule = Describing(answer)
    with caplog.at_level(logging.INFO, logger="asyncsink_firehose"):
        await check(rule)
    assert rule.asked == 1
    [record] = caplog.records
    assert record.levelno == logging.INFO
    assert "'rows' did not describe itself" in record.getMessage()


async def test_a_stream_that_does_not_exist_is_told_with_its_name_and_place() -> None:
    async with FaultyHttpServer(FirehoseFake("others").react) as server:
        options = replace(FirehoseOptions(delivery_stream="rows", **access(server)))
        async with connect(options, "firehose", max_in_flight=1) as client:
            with pytest.raises(FatalRequestError) as found:
                await check_stream(client, options, timeout_s=20.0)
    for part in ("'rows' cannot be written to", "ResourceNotFoundException", server.url[7:], "Check deliveryStream"):
        assert part in str(found.value)
