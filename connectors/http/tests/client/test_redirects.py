"""Redirects on the wire: which are followed, and what nobody else is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.client import HttpClient
from asyncsink_testing import FaultyHttpServer, Reaction

pytestmark = pytest.mark.anyio


def moved(location: str, status: int = 307) -> Reaction:
    return Reaction.refuse(status, headers={"Location": location})


@asynccontextmanager
async def redirected(*reactions: Reaction, **values: Any) -> AsyncIterator[tuple[FaultyHttpServer, HttpAnswer]]:
    """The answer to a request whose first answers are these."""
    async with FaultyHttpServer(reactions) as server:
        values = {"redirects": "same-origin", "bearer_token": "s3cret", **values}
        options = HttpOptions(url=f"{server.url}/a/in", **values).resolved()
        async with HttpClient(options) as client:
            yield server, await client.send(HttpRequest("PUT", options.url, (), b"[1]", "test/-/0/0-1", 1, 1))


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    ("location", "path"), [("/there?x=1", "/there?x=1"), ("out#part", "/a/out"), ("?x", "/a/in?x")]
)
async def test_the_same_request_follows_the_server_with_its_credentials(status: int, location: str, path: str) -> None:
    async with redirected(moved(location, status)) as (server, answer):
        assert answer.status == 200
        second = server.received[1]
        assert (second.method, second.path, second.body) == ("PUT", path, b"[1]")
        assert second.headers["authorization"] == "Bearer s3cret"


async def test_a_full_address_of_the_same_server_is_followed() -> None:
    async with FaultyHttpServer() as server:
        # The first address is known once the server listens.
        server.script(moved(f"{server.url.upper().replace('HTTP', 'http')}/there"))
        options = HttpOptions(url=f"{server.url}/in", redirects="same-origin").resolved()
        async with HttpClient(options) as client:
            answer = await client.send(HttpRequest("POST", options.url, (), b"[1]", "test/-/0/0-1", 1, 1))
        assert (answer.status, [each.path for each in server.received]) == (200, ["/in", "/there"])


async def test_no_other_host_port_or_scheme_hears_of_it() -> None:
    async with FaultyHttpServer() as other:
        for location in (
            f"{other.url}/in",
            f"http://localhost:{other.port}/in",
            f"//127.0.0.1:{other.port}/in",
            f"https://127.0.0.1:{other.port}/in",
        ):
            async with redirected(moved(location)) as (server, answer):
                assert (answer.status, len(server.received)) == (307, 1), location
        assert other.received == []


@pytest.mark.parametrize("location", ["http://me:you@127.0.0.1/in", "http://[::1/in", "ftp://127.0.0.1/in", ""])
async def test_an_address_that_is_none_of_the_servers_is_left_alone(location: str) -> None:
    async with redirected(moved(location)) as (server, answer):
        assert (answer.status, len(server.received)) == (307, 1)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304])
async def test_a_redirect_that_may_change_the_method_is_not_followed(status: int) -> None:
    async with redirected(moved("/there", status)) as (server, answer):
        assert (answer.status, len(server.received)) == (status, 1)


async def test_redirects_in_a_circle_end() -> None:
    async with redirected(*[moved("/a/in")] * 9) as (server, answer):
        assert (answer.status, len(server.received)) == (307, 6)


async def test_none_is_followed_unless_asked_for() -> None:
    async with redirected(moved("/there"), redirects="none") as (server, answer):
        assert (answer.status, len(server.received)) == (307, 1)
