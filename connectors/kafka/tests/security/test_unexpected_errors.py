"""Errors that aiokafka does not expect of an authentication: they must not end its tasks."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from aiokafka.abc import AbstractTokenProvider
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError

from asyncsink.config import AsyncSinkWriterConfig, RetryPolicy
from asyncsink.errors import DestinationUnavailableError
from asyncsink_kafka.client import connect
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.security import why_unreachable
from asyncsink_kafka.security.token_providers import load_token_provider

from .scripted_broker import scripted_broker
from .test_reauthentication import SESSION_S, bench

pytestmark = pytest.mark.anyio

PLAIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
USER = {"sasl_plain_username": "alice", "sasl_plain_password": "s3cr3t"}


class TicketError(Exception):
    """Stands for gssapi's errors, which have no other base either."""


class Ticketless:
    async def step(self, payload: Any) -> Any:
        raise TicketError("no credentials are there")


@pytest.fixture
def ticketless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let authentication fail as GSSAPI does without a ticket."""
    monkeypatch.setattr(AIOKafkaConnection, "authenticator_plain", lambda self: Ticketless())


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no annotations
    error: Exception | None = None

    async def token(self) -> str:
        return "token"

    def extensions(self) -> dict[str, str]:
        if self.error is not None:
            raise self.error
        return {}


@pytest.fixture
def tokens() -> Iterator[Tokens]:
    """What a user's module holds."""
    module: Any = types.ModuleType("company_extensions")
    module.tokens = Tokens()
    sys.modules[module.__name__] = module
    yield module.tokens
    del sys.modules[module.__name__]


async def updated(client: AIOKafkaClient) -> bool:
    """Whether aiokafka's own task could look at the metadata; an error where the task is gone."""
    with anyio.fail_after(5):
        return bool(await client.force_metadata_update())


@pytest.mark.parametrize("error", [RuntimeError("busy"), ValueError("bug")])
async def test_metadata_are_looked_at_again_after_an_error_of_extensions(tokens: Tokens, error: Exception) -> None:
    provider = load_token_provider("company_extensions:tokens")
    async with bench(sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=provider) as it:
        tokens.error, it.now = error, SESSION_S + 1
        assert await updated(it.client) is False
        with pytest.raises(NodeNotReadyError):
            await it.ask()
        tokens.error = None
        assert await updated(it.client) is True


async def test_metadata_are_looked_at_again_after_an_error_of_gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench() as it:
        it.now = SESSION_S + 1
        with monkeypatch.context() as patch:
            patch.setattr(AIOKafkaConnection, "authenticator_plain", lambda self: Ticketless())
            assert await updated(it.client) is False
        assert await updated(it.client) is True


@pytest.mark.usefixtures("ticketless")
async def test_an_error_of_gssapi_is_told_with_its_cause() -> None:
    async with scripted_broker() as broker:
        found = await why_unreachable(f"127.0.0.1:{broker.port}", PLAIN | USER, client_id="test", timeout_s=5)
    assert isinstance(found, KafkaConnectionError)
    assert f"no SASL_PLAINTEXT connection to 127.0.0.1:{broker.port}: TicketError: no credentials" in str(found)
    assert isinstance(found.__cause__, TicketError)


@pytest.mark.usefixtures("ticketless")
async def test_a_writer_that_cannot_begin_for_it_says_so_when_its_time_is_over() -> None:
    retry = RetryPolicy(timeout_s=0.1, initial_backoff_s=0.02, max_backoff_s=0.05)
    async with scripted_broker() as broker:
        options = KafkaOptions(
            bootstrap_servers=f"127.0.0.1:{broker.port}",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username="alice",
            sasl_password="s3cr3t",
        )
        with pytest.raises(DestinationUnavailableError, match="TicketError: no credentials are there"):
            async with connect(options, AsyncSinkWriterConfig(retry=retry)):
                pass


async def test_an_error_that_is_no_trouble_of_the_brokers_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Any) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr("aiokafka.AIOKafkaProducer.start", broken)
    async with scripted_broker() as broker:
        with pytest.raises(LookupError, match="a bug"):
            async with connect(KafkaOptions(bootstrap_servers=f"127.0.0.1:{broker.port}"), AsyncSinkWriterConfig()):
                pass
