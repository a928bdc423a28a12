"""What only a real broker judges: sequence numbers, and refusals for what a batch holds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from aiokafka import AIOKafkaClient
from aiokafka.errors import RequestTimedOutError
from aiokafka.protocol.produce import ProduceRequest, ProduceResponse_v7
from anyio import to_thread
from confluent_kafka.admin import AdminClient, NewPartitions

from asyncsink.config import RetryPolicy
from asyncsink.errors import FatalRequestError, RequestError
from asyncsink_kafka.client import connect
from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.client.internals import Numbers, PrivateHandover
from asyncsink_kafka.encoding import ReadyBatch
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.record import KafkaRecord
from asyncsink_testing.kafka import KafkaBroker, Sasl
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .batches import batch_of, config_of, left_running, options_for, values_in

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]

INVALID_RECORD = 87
LONG_AGO_MS = 1_000_000_000_000


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with skipped_without_kafka(), KafkaBroker() as broker:
        yield broker


@pytest.fixture
def topic(broker: KafkaBroker, request: pytest.FixtureRequest) -> str:
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    broker.create_topic(name, config=getattr(request, "param", None))
    return name


def now(value: str) -> ReadyBatch:
    """A batch of one record that any topic takes."""
    return batch_of([KafkaRecord(value=value.encode(), key=b"k", timestamp=time.time_ns() // 1_000_000)])


@pytest.mark.parametrize(
    ("topic", "code", "record"),
    [
        ({"max.message.bytes": "1000"}, "MESSAGE_TOO_LARGE", KafkaRecord(value=b"x" * 2000)),
        ({"cleanup.policy": "compact"}, "INVALID_RECORD", KafkaRecord(value=b"without a key")),
        (
            {"message.timestamp.before.max.ms": "3600000"},
            "INVALID_TIMESTAMP",
            KafkaRecord(value=b"old", key=b"k", timestamp=LONG_AGO_MS),
        ),
    ],
    indirect=["topic"],
)
async def test_after_a_refusal_the_next_batch_is_in_sequence(
    broker: KafkaBroker, topic: str, handover: Handover, code: str, record: KafkaRecord
) -> None:
    async with connect(options_for(broker.bootstrap), config_of(), handover) as client:
        for number in range(3):
            await client.send(topic, 0, now(f"{number}"))
            with pytest.raises(RequestError) as caught:
                await client.send(topic, 0, batch_of([record]))
            assert caught.value.code == code

    assert values_in(broker.bootstrap, topic, 0) == ["0", "1", "2"]


def lose_an_answer_then_refuse(monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    """Store the first batch and time out; answer the second try of it that a record is invalid."""
    send, tries = AIOKafkaClient.send, iter(["lost", "refused"])

    async def once(self: Any, node_id: Any, request: Any, **options: Any) -> Any:
        fate = next(tries, None) if isinstance(request, ProduceRequest) else None
        if fate == "refused":
            return ProduceResponse_v7([(topic, [(0, INVALID_RECORD, -1, -1, -1)])], 0)
        answer = await send(self, node_id, request, **options)
        if fate == "lost":
            raise RequestTimedOutError
        return answer

    monkeypatch.setattr(AIOKafkaClient, "send", once)


async def test_a_batch_after_one_that_was_refused_and_may_be_stored_is_not_taken_for_it(
    broker: KafkaBroker, topic: str, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With the numbers of the first the second would be a duplicate: acknowledged, and dropped.
    lose_an_answer_then_refuse(monkeypatch, topic)
    async with connect(options_for(broker.bootstrap), config_of(), handover) as client:
        with pytest.raises(RequestError, match="INVALID_RECORD"):
            await client.send(topic, 0, now("stored all the same"))
        for number in range(3):
            await client.send(topic, 0, now(f"{number}"))

    assert values_in(broker.bootstrap, topic, 0) == ["stored all the same", "0", "1", "2"]


async def test_a_gap_in_the_sequence_is_closed_by_a_new_epoch(broker: KafkaBroker, topic: str) -> None:
    handover = PrivateHandover()
    async with connect(options_for(broker.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, now("0"))
        handover._numbers[topic, 0] = Numbers(0, 77)
        for number in range(1, 4):
            await client.send(topic, 0, now(f"{number}"))

        assert client.last_error is not None
        assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in client.last_error
        assert handover._numbers[topic, 0] == Numbers(1, 3)
    assert values_in(broker.bootstrap, topic, 0) == ["0", "1", "2", "3"]


async def test_an_answer_that_was_lost_doubles_nothing(
    broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, tries = AIOKafkaClient.send, iter([True, False, True])

    async def once(self: Any, node_id: Any, request: Any, **options: Any) -> Any:
        answer = await send(self, node_id, request, **options)
        if isinstance(request, ProduceRequest) and next(tries, False):
            raise RequestTimedOutError
        return answer

    monkeypatch.setattr(AIOKafkaClient, "send", once)
    async with connect(options_for(broker.bootstrap), config_of(), PrivateHandover()) as client:
        for number in range(3):
            await client.send(topic, 0, now(f"{number}"))

    assert values_in(broker.bootstrap, topic, 0) == ["0", "1", "2"]


async def test_a_topic_that_the_broker_makes_by_itself_is_waited_for(broker: KafkaBroker, handover: Handover) -> None:
    name = f"made-for-{type(handover).__name__}"
    async with connect(options_for(broker.bootstrap, max_block_s=20.0), config_of(), handover) as client:
        assert await client.partitions(name) == (1, [0])
        await client.send(name, 0, now("there"))

    assert values_in(broker.bootstrap, name, 0) == ["there"]


async def test_a_partition_that_a_topic_got_later_is_found_when_a_record_names_it(
    broker: KafkaBroker, topic: str, handover: Handover
) -> None:
    async with connect(options_for(broker.bootstrap, max_block_s=20.0), config_of(), handover) as client:
        assert await client.partitions(topic) == (1, [0])
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        made = admin.create_partitions([NewPartitions(topic, 3)])[topic]
        await to_thread.run_sync(made.result, 20.0)
        assert (await client.partitions(topic, 2))[0] == 3
        await client.send(topic, 2, now("there"))

    assert values_in(broker.bootstrap, topic, 2) == ["there"]


async def test_a_broker_that_was_killed_doubles_and_loses_nothing(
    broker: KafkaBroker, topic: str, handover: Handover
) -> None:
    is_back = anyio.Event()

    async def restart() -> None:
        await to_thread.run_sync(broker.kill)
        await to_thread.run_sync(broker.start)
        is_back.set()

    sent = 0
    retry = RetryPolicy(timeout_s=60.0, initial_backoff_s=0.05, max_backoff_s=0.2)
    async with connect(options_for(broker.bootstrap), config_of(retry=retry), handover) as client:
        async with anyio.create_task_group() as group:
            while sent < 200 or not is_back.is_set():
                if sent == 50:
                    group.start_soon(restart)
                await client.send(topic, 0, now(f"{sent}"))
                sent += 1

        assert client.last_error is not None, "no request has met the outage"
    assert values_in(broker.bootstrap, topic, 0) == [f"{number}" for number in range(sent)]


async def test_without_acknowledgements_a_broken_connection_is_an_outage_and_not_the_end(
    broker: KafkaBroker, topic: str, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, tries = AIOKafkaClient.send, iter(["sent", "broken"])

    async def once(self: Any, node_id: Any, request: Any, **options: Any) -> Any:
        if isinstance(request, ProduceRequest) and next(tries, None) == "broken":
            raise ConnectionResetError("gone")
        return await send(self, node_id, request, **options)

    monkeypatch.setattr(AIOKafkaClient, "send", once)
    options = options_for(broker.bootstrap, acks="0", delivery_guarantee="none")
    async with connect(options, config_of(), handover) as client:
        for number in range(3):
            await client.send(topic, 0, now(f"{number}"))

    # It may be stored after the client has gone: nobody has waited for it.
    while len(found := values_in(broker.bootstrap, topic, 0)) < 3:
        continue
    assert found == ["0", "1", "2"]


@pytest.fixture(scope="module")
def sasl_broker() -> Iterator[KafkaBroker]:
    sasl = Sasl(mechanisms=("PLAIN", "SCRAM-SHA-512"), users={"alice": "right"})
    with skipped_without_kafka(), KafkaBroker(listeners=("SASL_PLAINTEXT",), sasl=sasl) as broker:
        yield broker


def sasl_options(broker: KafkaBroker, mechanism: str, password: str) -> KafkaOptions:
    return options_for(
        broker.bootstrap_of("SASL_PLAINTEXT"),
        max_block_s=20.0,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_username="alice",
        sasl_password=password,
    )


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_wrong_password_fails_at_once_with_what_the_broker_says(
    sasl_broker: KafkaBroker, handover: Handover, mechanism: str
) -> None:
    began_s = anyio.current_time()
    with pytest.raises(FatalRequestError) as caught:
        async with connect(sasl_options(sasl_broker, mechanism, "wr0ng"), config_of(), handover):
            pass

    assert anyio.current_time() - began_s < config_of().retry.timeout_s / 2
    assert "refuses this client: " in str(caught.value)
    assert "SASL_AUTHENTICATION_FAILED" in str(caught.value)
    assert "check the user name, the password" in str(caught.value)
    assert "wr0ng" not in str(caught.value)
    assert await left_running() == []


async def test_the_right_password_sends(sasl_broker: KafkaBroker, handover: Handover) -> None:
    topic = f"by-password-{type(handover).__name__}"
    sasl_broker.create_topic(topic)
    async with connect(sasl_options(sasl_broker, "SCRAM-SHA-512", "right"), config_of(), handover) as client:
        await client.send(topic, 0, now("in"))

    assert values_in(sasl_broker.bootstrap, topic, 0) == ["in"]
