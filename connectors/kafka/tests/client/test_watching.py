from __future__ import annotations

import anyio
import pytest

from asyncsink.errors import RequestError
from asyncsink_kafka.client import connect
from asyncsink_kafka.client.codes import NAMES
from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.client.watching import ProduceWatch, UnderWay
from asyncsink_testing.kafka import MockCluster

from .batches import Told, batch_of, config_of, options_for

pytestmark = pytest.mark.anyio

PRODUCE = 0
NUMBERS = {name: number for number, name in NAMES.items()}


async def test_every_request_is_told_with_its_records_and_bytes(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    told = Told()
    sizes = []
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        client.observer = told
        for count in (3, 5):
            batch = batch_of([f"{each}" for each in range(count)])
            sizes.append((count, batch.size_in_bytes))
            await client.send(topic, 0, batch)

    assert told.started_requests == sizes
    assert told.ended_requests == [(None, 0.0), (None, 0.0)]
    assert all(each > 0 for each in told.seconds)


async def test_batches_of_several_partitions_share_a_request(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    told = Told()
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.partitions(topic)
        client.observer = told
        async with anyio.create_task_group() as group:
            for partition in range(3):
                group.start_soon(client.send, topic, partition, batch_of(["a", "b"]))

    assert sum(records for records, _ in told.started_requests) == 6
    assert len(told.started_requests) < 3


async def test_failures_are_told_by_kafkas_name_whether_they_are_repeated_or_not(
    cluster: MockCluster, topic: str, handover: Handover
) -> None:
    told = Told()
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.partitions(topic)
        client.observer = told
        cluster.fail_next(PRODUCE, [NUMBERS["NOT_ENOUGH_REPLICAS"], NUMBERS["INVALID_RECORD"]])
        with pytest.raises(RequestError):
            await client.send(topic, 0, batch_of(["refused"]))

    assert [code for code, _ in told.ended_requests] == ["NOT_ENOUGH_REPLICAS", "INVALID_RECORD"]


async def test_a_lost_connection_is_told(cluster: MockCluster, topic: str, handover: Handover) -> None:
    class Restarts(Told):
        def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
            super().ended(seconds, failed_code, throttle_s)
            if failed_code is not None:
                cluster.start_broker(1)

    told = Restarts()
    async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
        await client.send(topic, 0, batch_of(["first"]))
        client.observer = told
        cluster.stop_broker(1)
        await client.send(topic, 0, batch_of(["second"]))

    assert told.ended_requests[0][0] in ("NETWORK_EXCEPTION", "BROKER_NOT_AVAILABLE")
    assert told.ended_requests[-1] == (None, 0.0)
    assert len(told.started_requests) == len(told.ended_requests)


class Answer:
    """A broker's answer to a produce request, of a version that aiokafka does not ask for yet."""

    API_VERSION = 8
    throttle_time_ms = 1500

    def __init__(self, number: int, message: str | None) -> None:
        self.topics: list[object] = [("t", [(0, number, -1, -1, 0, [], message)])]


class Broker:
    host, port = "kafka.example", 9092


class Client:
    """As much of aiokafka's client as is watched."""

    def __init__(self, answer: Answer) -> None:
        self.cluster = self
        self.answer = answer
        self.seen: list[object] = []

    def broker_metadata(self, node_id: int) -> Broker:
        return Broker()

    async def send(self, node_id: int, request: object, **options: object) -> object:
        self.seen.append((request, options))
        return self.answer


def produce_request() -> object:
    from aiokafka.protocol.produce import ProduceRequest

    return ProduceRequest(None, -1, 1000, [("t", [(0, b"12345")])])


async def test_the_brokers_wish_to_be_left_alone_and_its_words_are_told() -> None:
    client, watch, told = Client(Answer(87, "no key")), ProduceWatch(), Told()
    watch.attach(client)
    watch.observer = told
    under_way = watch.under_way["t", 0] = UnderWay(records=4)
    await client.send(3, produce_request())

    assert told.started_requests == [(4, 5)]
    assert told.ended_requests == [("INVALID_RECORD", 1.5)]
    place = "topic 't', partition 0, broker 3 at kafka.example:9092"
    assert (under_way.code, under_way.message) == ("INVALID_RECORD", f"{place}: no key")
    assert watch.last_error == f"INVALID_RECORD: {place}: no key"


async def test_what_is_no_produce_request_passes_untouched() -> None:
    client, watch, told = Client(Answer(0, None)), ProduceWatch(), Told()
    watch.attach(client)
    watch.observer = told
    await client.send(1, "metadata", group="coordination")

    assert client.seen == [("metadata", {"group": "coordination"})]
    assert told.started_requests == []


@pytest.mark.parametrize(
    ("number", "may_be_stored"),
    [(10, False), (19, False), (87, False), (6, True), (7, True), (20, True), (-1, True), (56, True), (777, True)],
)
async def test_it_is_known_of_which_answers_nothing_is_stored(number: int, may_be_stored: bool) -> None:
    client, watch = Client(Answer(number, None)), ProduceWatch()
    watch.attach(client)
    under_way = watch.under_way["t", 0] = UnderWay(records=1)
    await client.send(1, produce_request())

    assert under_way.may_be_stored is may_be_stored
