"""What a stream says of itself when a writer begins, and what is said where it does not."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import DestinationUnavailableError, FatalRequestError, OversizedEntryError, RetryPolicy
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.client import KinesisClient, opened
from asyncsink_kinesis.stream import StreamDescription, describe
from asyncsink_testing import Reaction
from asyncsink_testing.aws import KinesisDestination, KinesisFake, answered, refused

pytestmark = pytest.mark.anyio

KIB, MIB = 1024, 1024 * 1024


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Described(KinesisFake):
    """A stream that answers DescribeStreamSummary as it is told: by a state, or by a refusal; the last one goes on."""

    def __init__(self, *answers: str | Reaction, **values: Any) -> None:
        super().__init__(**values)
        self._answers: Iterator[str | Reaction] = iter(answers)
        self._last: str | Reaction = "ACTIVE"
        self.asked = 0

    def describe(self, call: Any) -> Reaction | None:
        if call.operation != "DescribeStreamSummary":
            return super().describe(call)
        self.asked += 1
        self._last = next(self._answers, self._last)
        if isinstance(self._last, Reaction):
            return self._last
        return answered({"StreamDescriptionSummary": {**self._summary(), "StreamStatus": self._last}})


def sink_for(destination: KinesisDestination, wait_s: float = 5.0, **options: Any) -> KinesisSink:
    retry = RetryPolicy(timeout_s=wait_s, initial_backoff_s=0.001, max_backoff_s=0.01)
    values = {
        "stream_name": destination.fake.name,
        "region": destination.fake.region,
        "endpoint": destination.endpoint,
        "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": "c2VjcmV0",
    }
    return KinesisSink(config=replace(KinesisSink.defaults, retry=retry), **(values | options))


@asynccontextmanager
async def client_of(fake: KinesisFake, **options: Any) -> AsyncIterator[KinesisClient]:
    async with KinesisDestination.opened(fake) as destination:
        sink = sink_for(destination, **options)
        async with opened(sink.options, sink.config) as client:
            yield client


async def test_the_stream_tells_the_limit_of_its_records() -> None:
    async with client_of(KinesisFake(max_record_bytes=2048 * KIB)) as client:
        assert client.stream == StreamDescription(2 * MIB)


async def test_records_may_be_as_large_as_the_stream_says() -> None:
    async with KinesisDestination.opened(KinesisFake(max_record_bytes=2 * MIB)) as destination:
        async with sink_for(destination).open() as writer:
            await writer.write(KinesisEntry(b"x" * (2 * MIB - 1), "k"))
            with pytest.raises(OversizedEntryError, match=f"{2 * MIB + 1} bytes, more than .* = {2 * MIB}"):
                await writer.write(KinesisEntry(b"x" * (2 * MIB), "k"))
        assert [len(each.data) for each in destination.fake.records] == [2 * MIB - 1]


async def test_a_limit_that_the_user_has_set_stays() -> None:
    async with KinesisDestination.opened(KinesisFake(max_record_bytes=2 * MIB)) as destination:
        sink = sink_for(destination)
        config = replace(sink.config, max_record_size_in_bytes=100)
        async with sink.open(config) as writer:
            with pytest.raises(OversizedEntryError, match=r"102 bytes, more than .* = 100"):
                await writer.write(KinesisEntry(b"x" * 101, "k"))


async def test_without_permission_to_describe_a_writer_works_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "asyncsink_kinesis")
    fake = Described(refused("AccessDeniedException", "User: arn:... is not authorized to perform: kinesis:Describe"))
    async with KinesisDestination.opened(fake) as destination:
        async with sink_for(destination).open() as writer:
            await writer.write(b"row")
            with pytest.raises(OversizedEntryError, match=f"more than .* = {MIB}"):
                await writer.write(b"x" * MIB)
    assert [each.data for each in fake.records] == [b"row"]
    [record] = [each for each in caplog.records if each.name.startswith("asyncsink_kinesis")]
    assert record.levelno == logging.INFO
    assert "allow kinesis:DescribeStreamSummary to have its limit read" in record.getMessage()


@pytest.mark.parametrize(
    "answer",
    [
        refused("LimitExceededException", "Rate exceeded"),
        refused("InternalFailure", "Internal Service Failure", 500),
        Reaction.drop_before_storing(),
    ],
)
async def test_a_stream_that_does_not_answer_now_is_written_to_all_the_same(answer: Reaction) -> None:
    fake = Described(answer)
    async with client_of(fake) as client:
        assert client.stream == StreamDescription()
    assert fake.asked == 1


async def test_a_stream_that_is_being_made_is_waited_for() -> None:
    busy = refused("LimitExceededException", "Rate exceeded")
    fake = Described("ACTIVE", "CREATING", busy, "CREATING", "UPDATING")
    async with KinesisDestination.opened(fake) as destination:
        sink = sink_for(destination)
        async with opened(sink.options, sink.config) as client:
            found = await describe(client.aws, sink.options, 5.0, poll_s=0.001)
    assert found.max_record_size_in_bytes == destination.fake.max_record_bytes
    assert fake.asked == 5


async def test_a_stream_that_is_never_ready_is_given_up_after_retry_timeout() -> None:
    fake = Described("CREATING")
    async with KinesisDestination.opened(fake) as destination:
        with pytest.raises(
            DestinationUnavailableError, match="stream 'rows' in region 'us-east-1' cannot be written to"
        ):
            async with sink_for(destination, wait_s=0.05).open():
                pass


async def test_a_stream_that_is_being_deleted_fails_at_once() -> None:
    with pytest.raises(FatalRequestError, match="stream 'rows' in region 'us-east-1' is being deleted"):
        async with client_of(Described("DELETING")):
            pass


async def test_a_stream_that_does_not_exist_is_named_with_its_region() -> None:
    said = "stream 'other' in region 'us-east-1' cannot be written to: ResourceNotFoundException: .*Stream other under"
    with pytest.raises(FatalRequestError, match=f"{said}.* Check streamName and region"):
        async with client_of(KinesisFake(), stream_name="other"):
            pass


async def test_an_arn_is_asked_for_by_the_arn() -> None:
    async with KinesisDestination.opened() as destination:
        sink = sink_for(destination, stream_name=None, stream_arn=destination.fake.arn)
        async with sink.open() as writer:
            await writer.write(b"row")
        assert [each.data for each in destination.fake.records] == [b"row"]
        assert sink.options.default_region == destination.fake.region
