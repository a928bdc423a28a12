from __future__ import annotations

from typing import Any

import anyio
import pytest
from aiokafka import AIOKafkaClient

from asyncsink.errors import RequestError
from asyncsink_kafka.client import UnknownTopicError, connect
from asyncsink_kafka.client.codes import CLIENT_FAILED, NAMES
from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.record import KafkaRecord
from asyncsink_testing.kafka import MockCluster

from .batches import NOW_MS, Told, batch_of, config_of, left_running, options_for, read_back, values_in

pytestmark = pytest.mark.anyio

PRODUCE = 0
NUMBERS = {name: number for number, name in NAMES.items()}


async def test_batches_arrive_once_and_in_order(cluster: MockCluster, topic: str, handover: Handover) -> None:
    async def send(partition: int) -> None:
        for number in range(20):
            await client.send(topic, partition, batch_of([f"{number}-{each}" for each in range(7)]))

    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        async with anyio.create_task_group() as group:
            for partition in range(3):
                group.start_soon(send, partition)

    expected = [f"{number}-{each}" for number in range(20) for each in range(7)]
    assert [values_in(cluster.bootstrap, topic, each) for each in range(3)] == [expected] * 3
    assert await left_running() == []


async def test_every_part_of_a_record_arrives(cluster: MockCluster, topic: str, handover: Handover) -> None:
    records = [
        KafkaRecord(value=b"v", key=b"k", headers=(("a", b"1"), ("a", None), ("ö", b"")), timestamp=NOW_MS - 5),
        KafkaRecord(value=None, key=b"k"),
        KafkaRecord(value=b"", key=None, timestamp=NOW_MS + 7),
        KafkaRecord(value=None, key=None),
    ]
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(records))

    found = read_back(cluster.bootstrap, topic, 0)
    assert [(each.key(), each.value()) for each in found] == [(each.key, each.value) for each in records]
    assert [each.timestamp()[1] for each in found] == [NOW_MS - 5, NOW_MS, NOW_MS + 7, NOW_MS]
    assert found[0].headers() == [("a", b"1"), ("a", None), ("ö", b"")]


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
async def test_compressed_batches_can_be_read(
    cluster: MockCluster, topic: str, handover: Handover, compression: str
) -> None:
    values = [f"value {each}" for each in range(500)]
    async with connect(options_for(cluster.bootstrap, compression=compression), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(values, compression))

    assert values_in(cluster.bootstrap, topic, 0) == values


@pytest.mark.parametrize(
    "changes",
    [
        {"acks": "all", "enable_idempotence": False},
        {"acks": "1"},
    ],
    ids=lambda changes: f"acks={changes['acks']}",
)
async def test_producers_that_are_not_idempotent_deliver(
    cluster: MockCluster, topic: str, handover: Handover, changes: dict[str, Any]
) -> None:
    async with connect(options_for(cluster.bootstrap, **changes), config_of(), handover) as client:
        for number in range(5):
            await client.send(topic, 1, batch_of([str(number)]))

    assert values_in(cluster.bootstrap, topic, 1) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    "codes",
    [
        ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "NOT_LEADER_OR_FOLLOWER"),
        ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
        ("LEADER_NOT_AVAILABLE", "KAFKA_STORAGE_ERROR"),
        ("UNKNOWN_TOPIC_OR_PARTITION",),
        # These three end it for aiokafka.
        ("CORRUPT_MESSAGE", "CORRUPT_MESSAGE"),
        ("THROTTLING_QUOTA_EXCEEDED",),
        ("FENCED_LEADER_EPOCH", "REQUEST_TIMED_OUT"),
    ],
    ids=lambda codes: "-".join(codes),
)
async def test_what_may_mend_is_repeated_inside(
    cluster: MockCluster, topic: str, handover: Handover, codes: tuple[str, ...]
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(["first"]))
        cluster.fail_next(PRODUCE, [NUMBERS[code] for code in codes])
        await client.send(topic, 0, batch_of(["second"]))
        await client.send(topic, 0, batch_of(["third"]))

        assert client.last_error is not None
        assert codes[-1] in client.last_error
        assert "broker 1 at 127.0.0.1:" in client.last_error

    assert values_in(cluster.bootstrap, topic, 0) == ["first", "second", "third"]


@pytest.mark.parametrize(
    "code",
    [
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "INVALID_TOPIC_EXCEPTION",
        "POLICY_VIOLATION",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UNKNOWN_SERVER_ERROR",
    ],
)
async def test_a_definite_refusal_is_raised_by_its_name_and_the_next_batch_is_taken(
    cluster: MockCluster, topic: str, handover: Handover, code: str
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(["first"]))
        cluster.fail_next(PRODUCE, [NUMBERS[code]])
        with pytest.raises(RequestError) as caught:
            await client.send(topic, 0, batch_of(["refused"]))
        await client.send(topic, 0, batch_of(["second"]))
        await client.send(topic, 1, batch_of(["third"]))

    assert caught.value.code == code
    assert f"topic '{topic}', partition 0, broker 1 at 127.0.0.1:" in caught.value.message
    assert values_in(cluster.bootstrap, topic, 0) == ["first", "second"]
    assert values_in(cluster.bootstrap, topic, 1) == ["third"]


async def test_a_code_that_nobody_knows_is_raised_with_its_number(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        cluster.fail_next(PRODUCE, [777])
        with pytest.raises(RequestError) as caught:
            await client.send(topic, 0, batch_of(["refused"]))

    assert caught.value.code == "KAFKA_ERROR_777"


@pytest.mark.parametrize("code", ["OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH"])
async def test_a_batch_whose_sequence_the_broker_does_not_know_goes_again_once(
    cluster: MockCluster, topic: str, handover: Handover, code: str
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(["first"]))
        cluster.fail_next(PRODUCE, [NUMBERS[code]])
        await client.send(topic, 0, batch_of(["second"]))
        cluster.fail_next(PRODUCE, [NUMBERS[code]] * 2)
        with pytest.raises(RequestError, match=code) as caught:
            await client.send(topic, 0, batch_of(["third"]))

    assert caught.value.code == code
    assert values_in(cluster.bootstrap, topic, 0) == ["first", "second"]


async def test_refusals_of_one_partition_leave_the_others_alone(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    refused: list[tuple[int, str, str]] = []

    async def send(partition: int) -> None:
        for number in range(10):
            try:
                await client.send(topic, partition, batch_of([f"{number}"]))
            except RequestError as error:
                refused.append((partition, f"{number}", error.code))

    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        cluster.fail_next(PRODUCE, [0, NUMBERS["INVALID_RECORD"], 0, NUMBERS["MESSAGE_TOO_LARGE"]])
        async with anyio.create_task_group() as group:
            for partition in range(3):
                group.start_soon(send, partition)

    assert {code for _, _, code in refused} == {"INVALID_RECORD", "MESSAGE_TOO_LARGE"}
    for partition in range(3):
        missing = {number for each, number, _ in refused if each == partition}
        expected = [f"{number}" for number in range(10) if f"{number}" not in missing]
        assert values_in(cluster.bootstrap, topic, partition) == expected


async def test_a_broker_that_comes_back_is_sent_to_again(cluster: MockCluster, topic: str, handover: Handover) -> None:
    class Restarts(Told):
        def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
            cluster.start_broker(1)

    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(["first"]))
        cluster.stop_broker(1)
        client.observer = Restarts()
        await client.send(topic, 0, batch_of(["second"]))
        assert client.last_error is not None

    assert values_in(cluster.bootstrap, topic, 0) == ["first", "second"]


async def test_a_partition_is_followed_to_its_new_leader(handover: Handover) -> None:
    with MockCluster(brokers=2, topics={"moving": 1}) as cluster:
        async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
            for leader in (1, 2, 1):
                cluster.move_leader("moving", 0, leader)
                await client.send("moving", 0, batch_of([f"to {leader}"]))

        assert values_in(cluster.bootstrap, "moving", 0) == ["to 1", "to 2", "to 1"]


async def test_a_partition_that_the_topic_does_not_have_is_said(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        with pytest.raises(UnknownTopicError, match="has 3 partitions, so that there is no partition 3"):
            await client.send(topic, 3, batch_of(["lost"]))


async def test_metadata_of_one_topic_stay_when_another_is_asked_for(
    cluster: MockCluster, topic: str, other_topic: str, handover: Handover
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        for name in (topic, other_topic, topic):
            assert await client.partitions(name) == (3, [0, 1, 2])
            await client.send(name, 1, batch_of([name]))

    assert values_in(cluster.bootstrap, topic, 1) == [topic, topic]
    assert values_in(cluster.bootstrap, other_topic, 1) == [other_topic]


async def test_a_bug_is_no_outage_and_does_not_end_aiokafkas_sender(
    cluster: MockCluster, topic: str, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.partitions(topic)
        with monkeypatch.context() as patched:
            patched.setattr(AIOKafkaClient, "ready", raising(ZeroDivisionError("a bug")))
            with pytest.raises(RequestError, match="ZeroDivisionError") as caught:
                await client.send(topic, 0, batch_of(["lost"]))
        await client.send(topic, 0, batch_of(["next"]))

    assert caught.value.code == CLIENT_FAILED
    assert values_in(cluster.bootstrap, topic, 0) == ["next"]


async def test_an_error_of_the_socket_is_an_outage(
    cluster: MockCluster, topic: str, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mends(Told):
        def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
            super().ended(seconds, failed_code, throttle_s)
            monkeypatch.undo()

    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.partitions(topic)
        told = client.observer = Mends()
        monkeypatch.setattr(AIOKafkaClient, "ready", raising(ConnectionResetError("gone")))
        await client.send(topic, 0, batch_of(["sent again"]))

    assert told.ended_requests == [("NETWORK_EXCEPTION", 0.0), (None, 0.0)]
    assert values_in(cluster.bootstrap, topic, 0) == ["sent again"]


def raising(error: Exception) -> Any:
    async def ready(self: Any, node_id: Any, **options: Any) -> bool:
        raise error

    return ready
