"""Tokens from a token endpoint, which is a real HTTP server here."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from asyncsink_kafka.security.client_credentials import ClientCredentials
from asyncsink_kafka.security.tokens import TokenRefusedError, TokenUnavailableError

from .http_endpoint import Endpoint, serve
from .jwts import unsigned

pytestmark = pytest.mark.anyio

SECRET = "s3cr3t/+"


def credentials_for(endpoint: Endpoint, scope: str | None = None) -> ClientCredentials:
    return ClientCredentials(endpoint.url, "me", SECRET, scope, clock=lambda: 1000.0)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serve() as endpoint:
        yield endpoint


async def test_the_client_asks_as_java_does(endpoint: Endpoint) -> None:
    endpoint.body = {"access_token": "abc", "expires_in": 300}
    token = await credentials_for(endpoint, "kafka write").fetch()
    assert (token.value, token.expires_at) == ("abc", 1300.0)
    ((authorization, form),) = endpoint.asked
    assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"me:{SECRET}"
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka write"]}


async def test_without_a_scope_none_is_asked_for(endpoint: Endpoint) -> None:
    endpoint.body = {"access_token": "abc", "expires_in": "300"}
    assert (await credentials_for(endpoint).fetch()).expires_at == 1300.0
    assert endpoint.asked[0][1] == {"grant_type": ["client_credentials"]}


async def test_without_a_lifetime_that_of_the_token_itself_counts(endpoint: Endpoint) -> None:
    endpoint.body = {"id_token": unsigned(exp=2000)}
    assert (await credentials_for(endpoint).fetch()).expires_at == 2000.0


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refused_client_is_told_without_the_secret(endpoint: Endpoint, status: int) -> None:
    endpoint.status, endpoint.body = status, {"error": "invalid_client", "error_description": SECRET}
    with pytest.raises(TokenRefusedError, match=f"HTTP {status}, invalid_client") as caught:
        await credentials_for(endpoint).fetch()
    said = str(caught.value)
    assert "'me'" in said
    assert endpoint.url in said
    assert SECRET not in said


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_endpoint_in_trouble_may_have_a_token_later(endpoint: Endpoint, status: int) -> None:
    endpoint.status, endpoint.body = status, b"<html>busy</html>"
    with pytest.raises(TokenUnavailableError, match=f"HTTP {status}"):
        await credentials_for(endpoint).fetch()


async def test_an_endpoint_that_is_not_there_may_come_back(endpoint: Endpoint) -> None:
    credentials = ClientCredentials("http://127.0.0.1:1/token?key=s3cr3t", "me", SECRET)
    with pytest.raises(
        TokenUnavailableError, match=r"http://127\.0\.0\.1:1/token does not answer: .*refused"
    ) as caught:
        await credentials.fetch()
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("body", [b"no json", [], {"access_token": 3}, {}])
async def test_an_answer_without_a_token_is_an_error(endpoint: Endpoint, body: Any) -> None:
    endpoint.body = body
    with pytest.raises(TokenRefusedError, match="no access_token"):
        await credentials_for(endpoint).fetch()


@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_is_not_followed_with_the_secret(endpoint: Endpoint, status: int) -> None:
    endpoint.status, endpoint.body, endpoint.headers = status, {}, {"Location": endpoint.url}
    with pytest.raises(TokenRefusedError, match="redirect"):
        await credentials_for(endpoint).fetch()
    assert len(endpoint.asked) == 1


def test_a_secret_without_tls_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    ClientCredentials("https://login.example.com/token", "me", SECRET)
    ClientCredentials("http://localhost:8080/token", "me", SECRET)
    assert not caplog.records
    credentials = ClientCredentials("http://login.example.com/token", "me", SECRET)
    assert "login.example.com without TLS" in caplog.text
    assert SECRET not in caplog.text + repr(credentials)
