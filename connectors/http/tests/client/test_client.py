"""The client on the wire: built requests with their credentials, and what is counted and logged of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from asyncsink import ListBlock, ListRequestEntries, RequestError
from asyncsink_http import HttpAnswer, HttpOptions
from asyncsink_http.bodies.body import body_of
from asyncsink_http.client.client import HttpClient
from asyncsink_http.requests.building import RequestBuilder
from asyncsink_testing import FaultyHttpServer, Reaction

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Sender:
    """Sends one row over a client, again and again."""

    def __init__(self, options: HttpOptions) -> None:
        self._request = RequestBuilder(options, body_of(options)).build(ListRequestEntries(ListBlock([b"1"], [1])))
        self.client = HttpClient(options)

    async def send(self) -> HttpAnswer:
        return await self.client.send(self._request)


@asynccontextmanager
async def sending(url: str, **options: Any) -> AsyncIterator[Sender]:
    sender = Sender(HttpOptions(url=url, **options).resolved())
    async with sender.client:
        yield sender


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        ({}, {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "asyncsink-http"}),
        ({"body": "ndjson"}, {"content-type": "application/x-ndjson"}),
        ({"content_type": "text/plain"}, {"content-type": "text/plain"}),
        ({"compression": "gzip"}, {"content-encoding": "gzip"}),
        ({"bearer_token": "abc"}, {"authorization": "Bearer abc"}),
        ({"username": "a", "password": "b"}, {"authorization": "Basic YTpi"}),
        ({"headers": {"X-A": "é", "user-agent": "mine"}}, {"x-a": "é", "user-agent": "mine"}),
    ],
)
async def test_headers_of_every_request(options: dict[str, Any], headers: dict[str, str]) -> None:
    async with FaultyHttpServer() as server:
        async with sending(server.url, **options) as sender:
            await sender.send()
    found = server.received[0].headers
    assert {name: found[name] for name in headers} == headers
    assert found["idempotency-key"] == "test/-/0/0-1"


async def test_an_answer_comes_with_all_that_the_server_says() -> None:
    async with FaultyHttpServer([Reaction.refuse(503, b"later", headers={"Retry-After": "3"})]) as server:
        async with sending(server.url) as sender:
            answer = await sender.send()
    assert (answer.status, answer.reason, answer.text, answer.is_cut) == (503, "Service Unavailable", "later", False)
    assert (answer.headers["retry-after"], answer.http_version) == ("3", "HTTP/1.1")


async def test_requests_in_flight_are_counted_until_they_have_ended_in_whatever_way() -> None:
    reactions = [Reaction.hang(), Reaction.hang(), Reaction.drop_before_storing()]
    async with FaultyHttpServer(reactions) as server:
        async with sending(server.url) as sender:
            async with anyio.create_task_group() as group:
                group.start_soon(sender.send)
                group.start_soon(sender.send)
                await server.wait_received(2)
                assert sender.client.in_flight == 2
                group.cancel_scope.cancel()
            assert sender.client.in_flight == 0
            with pytest.raises(RequestError):
                await sender.send()
            assert sender.client.in_flight == 0


async def test_what_a_server_repeats_of_credentials_is_hidden() -> None:
    async with FaultyHttpServer() as server:
        async with sending(server.url, username="Aladdin", password="open sesame") as sender:
            await sender.send()
            echo = server.received[0].headers["authorization"]
            assert sender.client.redaction.hide(f"who is {echo}?") == "who is ***?"


async def test_logs_show_neither_the_query_nor_credentials(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with FaultyHttpServer() as server:
        url = f"{server.url}/in?sig=s3cret"
        async with sending(url, bearer_token="s3cret", headers={"X-Api-Key": "s3cret"}) as sender:
            await sender.send()
        assert server.received[0].path == "/in?sig=s3cret"
    assert "send_request_headers" in caplog.text
    assert "s3cret" not in caplog.text
