"""Credentials go to the destination and to nobody else."""

from __future__ import annotations

import sys

import pytest

from asyncsink_testing import FaultyHttpServer, Reaction

from . import own_schemes
from .sending import sending
from .token_endpoint import CLIENT, TokenEndpoint

pytestmark = pytest.mark.anyio

WAYS = {
    "bearer": {"bearerToken": "s3cret"},
    "basic": {"username": "me", "password": "s3cret"},
    "header": {"header__X_Api_Key": "s3cret"},
    "hmac": {"hmac__secret": "s3cret"},
    "auth": {"auth": "own_schemes:Asynchronous"},
    "oauth2": {"oauth2__clientId": CLIENT[0], "oauth2__clientSecret": CLIENT[1]},
}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "own_schemes", own_schemes)


@pytest.mark.parametrize("redirects", ["none", "same-origin"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_a_redirect_takes_neither_rows_nor_credentials_to_another_host(
    way: dict[str, str], redirects: str
) -> None:
    async with FaultyHttpServer() as other, FaultyHttpServer(TokenEndpoint()) as tokens:
        moved = Reaction.refuse(307, headers={"Location": f"{other.url}/in"})
        options = way | ({"oauth2__tokenUrl": f"{tokens.url}/token"} if "oauth2__clientId" in way else {})
        async with FaultyHttpServer([moved]) as server:
            async with sending(f"{server.url}/in", redirects=redirects, **options) as sender:
                assert (await sender.send()).status == 307
            assert len(server.received) == 1
        assert (other.connections, other.received) == (0, [])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_a_redirect_within_the_server_keeps_the_credentials(way: dict[str, str]) -> None:
    async with FaultyHttpServer(TokenEndpoint()) as tokens:
        options = way | ({"oauth2__tokenUrl": f"{tokens.url}/token"} if "oauth2__clientId" in way else {})
        async with FaultyHttpServer([Reaction.refuse(308, headers={"Location": "/there"})]) as server:
            async with sending(f"{server.url}/in", redirects="same-origin", **options) as sender:
                assert (await sender.send()).status == 200
        first, second = (
            {name: request.headers.get(name) for name in ("authorization", "x_api_key", "x-signature")}
            for request in server.received
        )
        assert first == second
        assert any(first.values())
        assert [request.path for request in server.received] == ["/in", "/there"]
        assert len(tokens.received) == ("oauth2__clientId" in way)
