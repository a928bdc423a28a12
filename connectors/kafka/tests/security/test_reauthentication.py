"""Sessions are renewed in time: by a clock that the test moves, over the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError, RequestTimedOutError
from aiokafka.protocol.metadata import MetadataRequest

from asyncsink.errors import RequestError
from asyncsink_kafka.security import keep_authenticated
from asyncsink_kafka.security.renewal import missing_parts

from .scripted_broker import ScriptedBroker, scripted_broker, until

pytestmark = pytest.mark.anyio

SESSION_S = 100


class Bench:
    """A client of the scripted broker, the time, and the refusals that it was told of."""

    def __init__(self, broker: ScriptedBroker, client: AIOKafkaClient) -> None:
        self.broker, self.client = broker, client
        self.now = 0.0
        self.refused: list[RequestError] = []

    async def ask(self) -> None:
        """One request to the broker, and its answer."""
        await self.client.send(1, MetadataRequest([]))


@asynccontextmanager
async def bench(session_s: int = SESSION_S, **settings: Any) -> AsyncIterator[Bench]:
    """A client with one connection beyond that of its bootstrap, which is closed."""
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(scripted_broker())
        broker.session_ms = session_s * 1000
        given = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "alice",
            "sasl_plain_password": "pw",
        }
        producer = AIOKafkaProducer(bootstrap_servers=f"127.0.0.1:{broker.port}", **(given | settings))
        stack.push_async_callback(producer.stop)
        made = Bench(broker, producer.client)
        keep_authenticated(producer, refused=made.refused.append, clock=lambda: made.now)
        await producer.client.bootstrap()
        await made.ask()
        yield made


async def test_a_connection_serves_until_its_session_nears_its_end() -> None:
    async with bench() as it:
        it.now = SESSION_S * 0.84
        await it.ask()
        assert it.broker.served == [1, 2]


async def test_the_next_request_after_that_goes_to_a_new_connection_and_the_old_one_is_closed() -> None:
    async with bench() as it:
        it.now = SESSION_S * 0.96
        await it.ask()
        assert it.broker.served == [1, 1, 1]
        await until(lambda: it.broker.open_connections == 1)
        it.now += SESSION_S * 0.96
        await it.ask()
        assert it.broker.served == [1, 1, 1, 1]


async def test_a_request_under_way_has_its_answer_from_the_old_connection() -> None:
    async with bench() as it:
        it.broker.answers.clear()
        it.broker.asked.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(it.ask)
            await it.broker.asked.wait()
            it.now = SESSION_S * 0.96
            group.start_soon(it.ask)
            await until(lambda: it.broker.served == [1, 2, 1])
            assert it.broker.open_connections == 2
            it.broker.answers.set()
        await until(lambda: it.broker.open_connections == 1)
        await it.ask()
        assert it.broker.served == [1, 2, 2]


async def test_a_request_that_times_out_after_the_renewal_closes_its_own_connection() -> None:
    async with bench(request_timeout_ms=300) as it:

        async def ask_in_vain() -> None:
            with pytest.raises(RequestTimedOutError, match=f"127.0.0.1:{it.broker.port} has not answered in 0.3 s"):
                await it.ask()

        it.broker.silent.add(1)
        it.broker.asked.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(ask_in_vain)
            await it.broker.asked.wait()
            it.now = SESSION_S * 0.96
            await it.ask()
            assert it.broker.open_connections == 2
        await until(lambda: it.broker.open_connections == 1)
        await it.ask()
        assert len(it.broker.served) == 3


async def test_an_old_connection_of_which_nobody_awaits_an_answer_any_more_is_closed() -> None:
    async with bench() as it:
        it.broker.silent.add(1)
        it.broker.asked.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(it.ask)
            await it.broker.asked.wait()
            it.now = SESSION_S * 0.96
            await it.ask()
            group.cancel_scope.cancel()
        await until(lambda: it.broker.open_connections == 1)
        await it.ask()
        assert it.broker.served == [1, 2, 2]
        assert len(it.client._conns) == 1


async def test_requests_that_come_together_open_one_connection() -> None:
    async with bench() as it:
        it.now = SESSION_S * 0.96
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(it.ask)
        assert it.broker.served == [1, 1, 5]


async def test_a_session_without_an_end_is_not_renewed() -> None:
    async with bench(session_s=0) as it:
        it.now = 1e9
        await it.ask()
        assert it.broker.served == [1, 2]


async def test_where_no_new_session_can_be_had_the_old_one_serves_while_it_lasts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with bench() as it:
        it.broker.refusal, it.now = 58, SESSION_S * 0.96
        await it.ask()
        assert it.broker.served == [1, 2, 0]
        assert it.refused == []
        assert "the broker's words" in caplog.text


async def test_after_its_end_the_refusal_is_told() -> None:
    async with bench() as it:
        it.broker.refusal, it.now = 58, SESSION_S + 1
        with pytest.raises(NodeNotReadyError):
            await it.ask()
        (refusal,) = {str(each): each for each in it.refused}.values()
        assert refusal.code == "SASL_AUTHENTICATION_FAILED"
        assert "the broker's words" in refusal.message


async def test_after_an_outage_the_next_request_finds_a_session_again() -> None:
    async with bench() as it:
        it.broker.refusal, it.now = 1, SESSION_S + 1
        with pytest.raises(NodeNotReadyError):
            await it.ask()
        it.broker.refusal = 0
        await it.ask()
        assert it.refused == []


async def test_a_failure_is_logged_once_and_not_for_each_request(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as it:
        it.broker.refusal, it.now = 58, SESSION_S + 1
        for _ in range(3):
            with pytest.raises(NodeNotReadyError):
                await it.ask()
        ours = [each for each in caplog.records if each.name.startswith("asyncsink_kafka")]
        assert [each.getMessage().partition(":")[0] for each in ours] == ["cannot connect to broker 1"]


async def test_closing_closes_the_retired_connections_too() -> None:
    async with anyio.create_task_group() as group:
        async with bench() as it:

            async def ask_in_vain() -> None:
                with pytest.raises(KafkaConnectionError, match="closed"):
                    await it.ask()

            broker = it.broker
            broker.answers.clear()
            broker.asked.clear()
            group.start_soon(ask_in_vain)
            await broker.asked.wait()
            it.now = SESSION_S * 0.96
            group.start_soon(ask_in_vain)
            await until(lambda: broker.served == [1, 2, 1])
    broker.answers.set()
    await until(lambda: broker.open_connections == 0)


async def test_a_client_without_security_is_left_alone() -> None:
    producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1")
    before = producer.client._get_conn
    keep_authenticated(producer)
    assert producer.client._get_conn == before
    await producer.stop()


async def test_this_aiokafka_has_all_that_is_needed() -> None:
    producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1")
    assert missing_parts(producer.client) == [], (
        "aiokafka has changed: look at what asyncsink_kafka.security.reauthentication uses of it"
    )
    await producer.stop()


@pytest.mark.parametrize(
    ("part", "of"),
    [
        ("CloseReason", "aiokafka.conn"),
        ("ConnectionGroup", "aiokafka.client"),
        ("send", "aiokafka.conn.AIOKafkaConnection"),
    ],
)
async def test_a_missing_part_is_named(part: str, of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1")
    with monkeypatch.context() as patch:
        patch.delattr(f"{of}.{part}")
        missing = missing_parts(producer.client)
    assert missing == [f"{of}.{part}".replace("aiokafka.conn.AIO", "AIO")]
    await producer.stop()


async def test_an_aiokafka_that_lacks_a_part_is_left_alone_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers="127.0.0.1:1",
        security_protocol="SASL_PLAINTEXT",
        sasl_plain_username="alice",
        sasl_plain_password="pw",
    )
    before = producer.client._get_conn
    lacking = {name: vars(producer.client).pop(name) for name in ("_conns", "_security_protocol")}
    keep_authenticated(producer)
    vars(producer.client).update(lacking)
    assert producer.client._get_conn == before
    assert "AIOKafkaClient._security_protocol, AIOKafkaClient._conns" in caplog.text
    await producer.stop()
