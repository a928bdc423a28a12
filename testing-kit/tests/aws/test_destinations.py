"""The destinations of the checks with boto3 as a client: what it is told is what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from asyncsink_testing.aws import FirehoseDestination, FirehoseFake, KinesisDestination, KinesisFake, refused
from asyncsink_testing.faults import Fault, Step

from .clients import SECRETS, client, put, put_batch, refusal_of

ROWS = [b"%d" % number for number in range(6)]


def with_kinesis(use: Callable[[KinesisDestination, Any], None], fake: KinesisFake | None = None) -> None:
    async def run() -> None:
        async with KinesisDestination.opened(fake or KinesisFake(secrets=SECRETS)) as destination:
            await run_sync(use, destination, client("kinesis", destination.endpoint))

    anyio.run(run)


def with_firehose(use: Callable[[FirehoseDestination, Any], None], fake: FirehoseFake | None = None) -> None:
    async def run() -> None:
        async with FirehoseDestination.opened(fake or FirehoseFake(secrets=SECRETS)) as destination:
            await run_sync(use, destination, client("firehose", destination.endpoint))

    anyio.run(run)


def test_records_are_stored_and_seen_in_order() -> None:
    def use(destination: KinesisDestination, sender: Any) -> None:
        told = put(sender, *ROWS)
        assert told["FailedRecordCount"] == 0
        assert [each.data for each in destination.fake.records] == ROWS
        assert destination.requests[0].payloads == tuple(ROWS)
        assert destination.requests[0].stored == frozenset(range(6))
        numbers = [each["SequenceNumber"] for each in told["Records"]]
        assert numbers == sorted(set(numbers)) == [each.sequence_number for each in destination.fake.records]

    with_kinesis(use)


def test_what_only_asks_stands_in_no_list_and_meets_no_fault() -> None:
    def use(destination: KinesisDestination, sender: Any) -> None:
        destination.script([], then=Fault.FATAL)
        summary = sender.describe_stream_summary(StreamName="rows")["StreamDescriptionSummary"]
        assert (summary["OpenShardCount"], summary["MaxRecordSizeInKiB"]) == (1, 1024)
        assert len(sender.list_shards(StreamName="rows")["Shards"]) == 1
        assert destination.requests == []
        assert destination.peak_in_flight == 0

    with_kinesis(use)


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        (Fault.PARTLY_THROTTLED, ["ProvisionedThroughputExceededException"] * 2),
        (Fault.PARTLY_FAILED, ["InternalFailure"] * 2),
        (Fault.PARTLY_MIXED, ["ProvisionedThroughputExceededException", "InternalFailure"]),
    ],
)
def test_single_records_of_kinesis_fail_by_index(fault: Fault, codes: list[str]) -> None:
    def use(destination: KinesisDestination, sender: Any) -> None:
        destination.script([Step.partly(fault, 1, 4)])
        told = put(sender, *ROWS)
        assert told["FailedRecordCount"] == 2
        assert [each.get("ErrorCode") for each in told["Records"]] == [None, codes[0], None, None, codes[1], None]
        assert [each.data for each in destination.fake.records] == [ROWS[at] for at in (0, 2, 3, 5)]
        assert destination.requests[0].stored == {0, 2, 3, 5}

    with_kinesis(use)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.THROTTLED, "ProvisionedThroughputExceededException"),
        (Fault.REFUSED, "InternalFailure"),
        (Fault.REJECTED, "ValidationException"),
        (Fault.FATAL, "AccessDeniedException"),
    ],
)
def test_whole_requests_of_kinesis_fail_by_the_service_s_codes(fault: Fault, code: str) -> None:
    def use(destination: KinesisDestination, sender: Any) -> None:
        destination.script([fault])
        assert refusal_of(lambda: put(sender, *ROWS))[0] == code
        assert destination.fake.records == []
        assert destination.requests[0].stored == frozenset()

    with_kinesis(use)


def test_poison_refuses_the_whole_request_with_neither_service_telling_which() -> None:
    def use(destination: KinesisDestination | FirehoseDestination, sender: Any) -> None:
        destination.poison(lambda payload: payload == ROWS[3])
        send = put if isinstance(destination, KinesisDestination) else put_batch
        assert refusal_of(lambda: send(sender, *ROWS))[0] == "ValidationException"
        send(sender, *ROWS[:3])
        assert len(destination.fake.records) == 3
        assert Fault.POISONED not in destination.supported
        assert Fault.REJECTED in destination.supported

    with_kinesis(use)
    with_firehose(use)


def test_an_answer_of_one_s_own_takes_the_place_of_the_service_s() -> None:
    async def run() -> None:
        fatal = refused("KMSDisabledException", "The key is disabled.")
        async with KinesisDestination.opened(fatal=fatal) as destination:
            destination.script([Fault.FATAL])
            sender = client("kinesis", destination.endpoint)
            told = await run_sync(refusal_of, lambda: put(sender, *ROWS))
            assert told == ("KMSDisabledException", "The key is disabled.")

    anyio.run(run)


def test_put_record_comes_after_the_one_it_names() -> None:
    def use(destination: KinesisDestination, sender: Any) -> None:
        one: dict[str, Any] = {"StreamName": "rows", "PartitionKey": "k"}
        first = sender.put_record(**one, Data=b"1")["SequenceNumber"]
        second = sender.put_record(**one, Data=b"2", SequenceNumberForOrdering=first)["SequenceNumber"]
        assert second > first
        assert [each.after for each in destination.fake.records] == [None, first]
        later = str(int(second) + 1)
        code, message = refusal_of(lambda: sender.put_record(**one, Data=b"3", SequenceNumberForOrdering=later))
        assert code == "InvalidArgumentException"
        assert later in message
        destination.script([Step.partly(Fault.PARTLY_THROTTLED, 0)])
        code, message = refusal_of(lambda: sender.put_record(**one, Data=b"3"))
        assert code == "ProvisionedThroughputExceededException"
        assert message.startswith("Rate exceeded for shard shardId-000000000000 in stream rows under account")
        assert len(destination.fake.records) == 2

    with_kinesis(use)


def test_firehose_tells_single_records_and_keeps_the_others() -> None:
    def use(destination: FirehoseDestination, sender: Any) -> None:
        destination.script([Step.partly(Fault.PARTLY_MIXED, 0, 2)])
        told = put_batch(sender, *ROWS)
        assert told["FailedPutCount"] == 2
        codes = [each.get("ErrorCode") for each in told["RequestResponses"]]
        assert codes == ["ServiceUnavailableException", None, "InternalFailure", None, None, None]
        assert destination.fake.records == [ROWS[at] for at in (1, 3, 4, 5)]
        told = sender.put_record(DeliveryStreamName="rows", Record={"Data": b"one"})
        assert told["RecordId"]
        assert destination.fake.records[-1] == b"one"

    with_firehose(use)


def test_firehose_is_described_beside_the_script() -> None:
    def use(destination: FirehoseDestination, sender: Any) -> None:
        destination.script([], then=Fault.THROTTLED)
        told = sender.describe_delivery_stream(DeliveryStreamName="rows")["DeliveryStreamDescription"]
        assert (told["DeliveryStreamType"], told["DeliveryStreamStatus"]) == ("DirectPut", "ACTIVE")
        assert refusal_of(lambda: put_batch(sender, *ROWS)) == ("ServiceUnavailableException", "Slow down.")
        assert [each.fault for each in destination.requests] == [Fault.THROTTLED]

    with_firehose(use)


def test_a_stream_that_another_feeds_takes_no_direct_puts() -> None:
    def use(destination: FirehoseDestination, sender: Any) -> None:
        assert refusal_of(lambda: put_batch(sender, *ROWS)) == (
            "InvalidArgumentException",
            "This operation is not permitted on KinesisStreamAsSource delivery stream type.",
        )

    with_firehose(use, FirehoseFake(source="KinesisStreamAsSource"))


def test_the_names_are_for_the_options_of_the_sink() -> None:
    def use(destination: KinesisDestination | FirehoseDestination, sender: Any) -> None:
        assert destination.names["stream"] == "rows"
        assert destination.names["arn"].endswith("/rows")

    with_kinesis(use)
    with_firehose(use)
