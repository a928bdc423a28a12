from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import anyio
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.cluster import ClusterMetadata
from anyio import to_thread

from asyncsink.config import RetryPolicy
from asyncsink.errors import DestinationUnavailableError, FatalRequestError
from asyncsink_kafka.client import connect
from asyncsink_kafka.client.codes import NAMES
from asyncsink_kafka.client.handover import Handover
from asyncsink_testing.kafka import MockCluster

from .batches import batch_of, config_of, left_running, options_for, values_in

pytestmark = pytest.mark.anyio

INIT_PRODUCER_ID = 22
QUICK = RetryPolicy(timeout_s=0.4, initial_backoff_s=0.02, max_backoff_s=0.05)


@pytest.fixture
def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield int(server.getsockname()[1])


async def test_brokers_that_are_not_there_are_named_with_the_cause(free_port: int, handover: Handover) -> None:
    options = options_for(f"127.0.0.1:{free_port}")
    with pytest.raises(DestinationUnavailableError) as caught:
        async with connect(options, config_of(retry=QUICK), handover):
            pass

    message = str(caught.value)
    assert f"Kafka at 127.0.0.1:{free_port} could not be reached within retry.timeout = 0.4 s" in message
    assert "NETWORK_EXCEPTION" in message
    assert "Connect call failed" in message
    assert "Check bootstrapServers and securityProtocol" in message
    assert await left_running() == []


async def test_a_server_that_says_nothing_is_given_up_in_time(silent_port: int, handover: Handover) -> None:
    options = options_for(f"127.0.0.1:{silent_port}")
    with pytest.raises(DestinationUnavailableError, match=f"127.0.0.1:{silent_port}"):
        async with connect(options, config_of(retry=QUICK, request_timeout_s=0.1), handover):
            pass

    assert await left_running() == []


async def test_connecting_is_repeated_until_a_broker_is_there(handover: Handover) -> None:
    with MockCluster(topics={"late": 1}) as cluster:
        cluster.stop_broker(1)

        async def start() -> None:
            await to_thread.run_sync(cluster.start_broker, 1)

        async with anyio.create_task_group() as group:
            group.start_soon(start)
            async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
                await client.send("late", 0, batch_of(["here"]))

        assert values_in(cluster.bootstrap, "late", 0) == ["here"]


async def test_one_server_of_several_is_enough(cluster: MockCluster, free_port: int, handover: Handover) -> None:
    servers = f"127.0.0.1:{free_port},{cluster.bootstrap}"
    async with connect(options_for(servers), config_of(), handover) as client:
        assert client.last_error is None


async def test_a_missing_permission_for_idempotence_fails_at_once_with_the_remedy(handover: Handover) -> None:
    number = next(number for number, name in NAMES.items() if name == "CLUSTER_AUTHORIZATION_FAILED")
    with MockCluster() as cluster:
        cluster.fail_next(INIT_PRODUCER_ID, [number])
        with pytest.raises(FatalRequestError, match="Allow the user IdempotentWrite on the cluster"):
            async with connect(options_for(cluster.bootstrap), config_of(), handover):
                pass

    assert await left_running() == []


async def test_a_cancelled_connect_leaves_nothing(silent_port: int, handover: Handover) -> None:
    with anyio.move_on_after(0.05) as scope:
        async with connect(options_for(f"127.0.0.1:{silent_port}"), config_of(), handover):
            pass

    assert scope.cancelled_caught
    assert await left_running() == []


class OneId:
    """What gives each producer an id for a transaction of its own; this one has a single id."""

    async def arguments(self) -> dict[str, Any]:
        return {"transactional_id": "orders-1", "transaction_timeout_ms": 1_000}


@pytest.mark.parametrize("session", [None, OneId()], ids=["idempotent", "transactional"])
async def test_a_cluster_that_names_no_broker_is_told_so(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch, session: Any
) -> None:
    """As one that has only just started; aiokafka fails a bare assertion then."""
    monkeypatch.setattr(ClusterMetadata, "brokers", lambda _: set())
    with pytest.raises(DestinationUnavailableError, match=r"within retry.timeout = 0.4 s: .*the cluster names no brok"):
        async with connect(options_for(cluster.bootstrap), config_of(retry=QUICK), session=session):
            pass

    assert await left_running() == []


async def test_it_is_waited_for(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    found, answers = ClusterMetadata.brokers, [set[Any]()] * 3
    monkeypatch.setattr(ClusterMetadata, "brokers", lambda self: answers.pop() if answers else found(self))
    async with connect(options_for(cluster.bootstrap), config_of(), session=OneId()) as client:  # type: ignore[arg-type]
        assert "BROKER_NOT_AVAILABLE" in str(client.last_error)
        assert "the cluster names no broker yet" in str(client.last_error)


async def test_one_that_is_cancelled_while_its_transaction_begins_leaves_nothing(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = anyio.Event()

    async def begin(_: AIOKafkaProducer) -> None:
        begun.set()
        await anyio.sleep_forever()

    async def run() -> None:
        async with connect(options_for(cluster.bootstrap), config_of(), session=OneId()):  # type: ignore[arg-type]
            pass

    monkeypatch.setattr(AIOKafkaProducer, "begin_transaction", begin)
    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await begun.wait()
        group.cancel_scope.cancel()

    assert await left_running() == []
