"""OAuth 2's client credentials on the wire: what the endpoint is asked, and what follows its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import anyio
import pytest

from asyncsink import RequestError
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, Reaction

from .sending import Sender, sending
from .token_endpoint import CLIENT, Api, TokenEndpoint, token

pytestmark = pytest.mark.anyio


def client_of(endpoint_url: str) -> dict[str, str]:
    return {
        "oauth2__tokenUrl": f"{endpoint_url}/token?tenant=s3cret-tenant",
        "oauth2__clientId": CLIENT[0],
        "oauth2__clientSecret": CLIENT[1],
    }


class Connected:
    """An API, the endpoint of its tokens, and a sender to it."""

    def __init__(self, api: Api, server: FaultyHttpServer, endpoint: FaultyHttpServer, sender: Sender) -> None:
        self.api = api
        self.server = server
        self.endpoint = endpoint
        self.sender = sender


@asynccontextmanager
async def connected(endpoint: TokenEndpoint | None = None, **options: str) -> AsyncIterator[Connected]:
    api = Api(token(1))
    async with FaultyHttpServer(api) as server, FaultyHttpServer(endpoint or TokenEndpoint()) as tokens:
        async with sending(f"{server.url}/in", **client_of(tokens.url), **options) as sender:
            yield Connected(api, server, tokens, sender)


@pytest.mark.parametrize("style", ["basic", "post"])
async def test_a_token_is_asked_for_once_and_shown_with_every_request(style: str) -> None:
    endpoint = TokenEndpoint()
    async with connected(endpoint, oauth2__authStyle=style, header__X_Api_Key="s3cret-key") as found:
        assert [(await found.sender.send()).status for _ in range(3)] == [200] * 3
        (asked,) = found.endpoint.received
        assert (asked.method, asked.path) == ("POST", "/token?tenant=s3cret-tenant")
        assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
        assert "x_api_key" in found.server.received[0].headers
        assert "x_api_key" not in asked.headers, "the options' headers are for the destination"
    assert ("client_secret" in endpoint.forms[0]) == (style == "post")


async def test_scope_and_audience_are_asked_for() -> None:
    endpoint = TokenEndpoint()
    async with connected(endpoint, oauth2__scope="write read", oauth2__audience="https://api") as found:
        await found.sender.send()
    asked = {"grant_type": "client_credentials", "scope": "write read", "audience": "https://api"}
    assert endpoint.forms == [asked]


async def test_another_scheme_may_stand_before_the_token() -> None:
    async with connected(authorizationScheme="Token") as found:
        await found.sender.send()
        assert found.server.received[0].headers["authorization"] == f"Token {token(1)}"


async def test_requests_at_once_wait_for_one_token() -> None:
    endpoint = TokenEndpoint([])
    async with connected(endpoint) as found:
        assert await found.sender.send_at_once(8) == [200] * 8
    assert endpoint.issued == 1


async def test_a_token_that_the_server_refuses_is_replaced_and_the_same_request_sent_again() -> None:
    endpoint = TokenEndpoint()
    async with connected(endpoint) as found:
        await found.sender.send(b"[1]")
        found.api.token = token(2)
        assert (await found.sender.send(b"[2]")).status == 200
        refused, again = found.server.received[1:]
        assert (refused.stored, again.stored) == (False, True)
        assert refused.body == again.body == b"[2]"
        assert refused.headers["idempotency-key"] == again.headers["idempotency-key"]
    assert endpoint.issued == 2


async def test_requests_that_are_refused_at_once_ask_for_one_token() -> None:
    endpoint = TokenEndpoint()
    async with connected(endpoint) as found:
        await found.sender.send()
        found.api.token = token(2)
        assert await found.sender.send_at_once(8) == [200] * 8
    assert endpoint.issued == 2


async def test_a_server_that_refuses_the_new_token_too_is_asked_no_third_time() -> None:
    endpoint = TokenEndpoint()
    async with connected(endpoint) as found:
        found.api.token = "another's"
        assert (await found.sender.send()).status == 401
        assert len(found.server.received) == 2
    assert endpoint.issued == 2


@pytest.mark.parametrize("life_s", [-1, 0, "soon", None, True, "1e999", [3600]])
async def test_a_life_that_cannot_be_read_lasts_until_the_token_is_refused(life_s: object) -> None:
    endpoint = TokenEndpoint(expires_in=life_s)
    async with connected(endpoint) as found:
        assert [(await found.sender.send()).status for _ in range(3)] == [200] * 3
    assert endpoint.issued == 1


@pytest.mark.parametrize(
    ("reactions", "said"),
    [
        ([Reaction.throttle(7, status=503)], "HTTP 503"),
        ([Reaction.throttle(7)], "HTTP 429"),
        ([Reaction.drop_after_storing()], "the connection broke before the answer of host '127.0.0.1'"),
    ],
)
async def test_an_endpoint_in_trouble_is_asked_again_by_the_next_request(
    reactions: Iterable[Reaction], said: str
) -> None:
    async with connected(TokenEndpoint(reactions)) as found:
        with pytest.raises(RequestError) as raised:
            await found.sender.send()
        assert raised.value.code == "TOKEN_UNAVAILABLE"
        assert f"the token endpoint {found.endpoint.url}/token?*** has no token now: {said}" in raised.value.message
        assert raised.value.retry_after_s == (7 if "HTTP" in said else None)
        assert found.server.received == []
        assert (await found.sender.send()).status == 200


async def test_requests_that_wait_for_an_endpoint_in_trouble_share_its_answer() -> None:
    endpoint = TokenEndpoint([Reaction(status=503, held=True, stored=False)])
    async with connected(endpoint) as found:
        failed: list[str] = []

        async def send() -> None:
            try:
                await found.sender.send()
            except RequestError as error:
                failed.append(error.code)

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(send)
            await found.endpoint.wait_received(1)
            await anyio.wait_all_tasks_blocked()
            found.endpoint.release()
        assert failed == ["TOKEN_UNAVAILABLE"] * 8
        assert len(found.endpoint.received) == 1


@pytest.mark.parametrize(
    ("reaction", "said"),
    [
        (Reaction.refuse(400, b'{"error": "invalid_client"}'), "HTTP 400, invalid_client; check oauth2.tokenUrl"),
        (Reaction.refuse(401, f'{{"error": "{CLIENT[1]} is wrong"}}'.encode()), "HTTP 401, *** is wrong"),
        (Reaction.refuse(404, b"<html>"), "HTTP 404; check"),
        (Reaction(body=b"[]"), "holds no access_token; check oauth2.tokenUrl"),
        (Reaction(body=b'{"access_token": "a b"}'), "holds no access_token"),
        (Reaction(body=b'{"access_token": ""}'), "holds no access_token"),
        (Reaction(body=b'{"access_token": "a\\r\\nX: b"}'), "holds no access_token"),
    ],
)
async def test_an_endpoint_that_gives_no_token_is_fatal(reaction: Reaction, said: str) -> None:
    async with connected(TokenEndpoint([reaction])) as found:
        with pytest.raises(RequestError) as raised:
            await found.sender.send()
        assert raised.value.code == "TOKEN_REFUSED"
        assert said in raised.value.message
        assert "s3cret" not in str(raised.value)
        assert found.server.received == []


async def test_the_secret_follows_no_redirect_of_the_endpoint() -> None:
    async with FaultyHttpServer() as elsewhere:
        moved = Reaction.refuse(307, headers={"Location": f"{elsewhere.url}/token"})
        async with connected(TokenEndpoint([moved])) as found:
            with pytest.raises(
                RequestError, match="HTTP 307, a redirect, which is not followed with a secret"
            ) as raised:
                await found.sender.send()
        assert raised.value.code == "TOKEN_REFUSED"
        assert elsewhere.received == []


async def test_an_endpoint_that_cannot_be_reached_may_be_later() -> None:
    async with FaultyHttpServer() as gone:
        url = gone.url
    async with FaultyHttpServer() as server, sending(server.url, **client_of(url)) as sender:
        with pytest.raises(RequestError) as raised:
            await sender.send()
    assert raised.value.code == "TOKEN_UNAVAILABLE"
    assert "has no token now: no connection to host '127.0.0.1'" in raised.value.message


async def test_what_the_endpoint_gave_is_hidden_where_a_server_repeats_it() -> None:
    async with connected() as found:
        await found.sender.send()
        assert found.sender.client.redaction.hide(f"unknown: {token(1)}") == "unknown: ***"


async def test_no_row_is_lost_by_an_endpoint_in_trouble_and_tokens_that_end() -> None:
    endpoint = TokenEndpoint([Reaction.refuse(503), Reaction.drop_before_storing()])
    api = Api(token(1))
    async with FaultyHttpServer(api) as server, FaultyHttpServer(endpoint) as tokens:
        named = {name.replace("__", "."): value for name, value in client_of(tokens.url).items()}
        options = {"url": server.url, "body": "ndjson", "maxBatchSize": "1", "retry.initialBackoff": "1ms", **named}
        sink = HttpSink.from_options(options)
        async with sink.open() as writer:
            for number in range(20):
                if number == 10:
                    await writer.flush(True)
                    api.token = token(2)
                await writer.write({"id": number})
        assert sorted(request.body for request in server.stored) == sorted(b'{"id":%d}\n' % n for n in range(20))
    assert endpoint.issued == 2


async def test_a_client_secret_over_plain_http_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async with sending("https://api.example.com", **client_of("http://login.example.com")):
        assert "the client secret goes to the token endpoint at login.example.com without TLS" in caplog.text
        assert "s3cret" not in caplog.text
