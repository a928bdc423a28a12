"""Any ``httpx.Auth`` over the client's own connections."""

from __future__ import annotations

import hashlib
import re
import sys

import httpx
import pytest

from asyncsink import ConfigurationError, RequestError
from asyncsink_testing import FaultyHttpServer, Reaction
from asyncsink_testing.http_server import HttpRequest

from . import own_schemes
from .sending import sending

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "own_schemes", own_schemes)


async def test_a_scheme_sees_body_and_headers_as_they_go() -> None:
    async with FaultyHttpServer() as server:
        async with sending(f"{server.url}/in", auth="own_schemes:Signed", header__X_Tenant="blue") as sender:
            await sender.send(b"[1]")
        (request,) = server.received
    assert request.headers["x-signed"] == "POST /in blue [1]"
    assert request.headers["idempotency-key"] == "key of [1]"
    assert request.headers["content-length"] == "3"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def digest(request: HttpRequest) -> Reaction:
    """A server that wants digest authentication (RFC 7616) and offers basic beside it."""
    given = dict(re.findall(r'(\w+)="?([^",]+)"?', request.headers.get("authorization", "")))
    ha1, ha2 = md5("Mufasa:a realm, with a comma:s3cret circle"), md5(f"{request.method}:{request.path}")
    parts = (ha1, given.get("nonce", ""), given.get("nc", ""), given.get("cnonce", ""), "auth", ha2)
    if given.get("response") == md5(":".join(parts)):
        return Reaction.OK
    challenge = 'Basic realm="a realm, with a comma", Digest realm="a realm, with a comma", nonce="n1", qop="auth"'
    return Reaction.refuse(401, headers={"WWW-Authenticate": challenge})


async def test_digest_authentication_works_and_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # It remembers a challenge: another test's is none of this one's.
    monkeypatch.setattr(own_schemes, "DIGEST", httpx.DigestAuth("Mufasa", "s3cret circle"))
    async with FaultyHttpServer(digest) as server:
        async with sending(f"{server.url}/in?a=b", auth="own_schemes:DIGEST") as sender:
            assert [(await sender.send()).status for _ in range(3)] == [200] * 3
    assert [request.stored for request in server.received] == [False, True, True, True]
    assert {request.body for request in server.received} == {b"[1]"}


async def test_what_a_scheme_asks_of_another_host_goes_without_the_destinations_headers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens = Reaction(body=b'{"token": "first"}')
    async with FaultyHttpServer([tokens]) as elsewhere, FaultyHttpServer([Reaction.refuse(401, b"again")]) as server:
        monkeypatch.setattr(own_schemes.TokenElsewhere, "url", f"{elsewhere.url}/token")
        options = {"auth": "own_schemes:TokenElsewhere", "header__X_Api_Key": "s3cret", "hmac__secret": "s3cret"}
        async with sending(f"{server.url}/in", **options) as sender:
            assert (await sender.send()).status == 200
            assert sender.client.redaction.hide("got first, then second") == "got ***, then ***"
        (asked,) = elsewhere.received
        assert (asked.method, asked.path) == ("GET", "/token")
        assert not {"x_api_key", "x-signature", "authorization"} & set(asked.headers)
        shown = [(request.headers["authorization"], request.headers["x_api_key"]) for request in server.received]
        assert shown == [("Bearer first", "s3cret"), ("Bearer second", "s3cret")]
        assert all("x-signature" in request.headers for request in server.received)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [("{elsewhere}/in", "sends the request to another host"), ("ftp://127.0.0.1/in", "is neither http nor https")],
)
async def test_a_scheme_takes_no_request_to_another_host(
    address: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultyHttpServer() as elsewhere, FaultyHttpServer() as server:
        monkeypatch.setattr(own_schemes.Astray, "url", address.format(elsewhere=elsewhere.url))
        async with sending(f"{server.url}/in", auth="own_schemes:Astray", header__X_Api_Key="s3cret") as sender:
            with pytest.raises(RequestError, match=f"TOKEN_REFUSED: option 'auth' = 'own_schemes:Astray' .*{sentence}"):
                await sender.send()
        assert elsewhere.received == server.received == []


async def test_an_asynchronous_flow_works_and_what_it_shows_is_hidden() -> None:
    async with FaultyHttpServer() as server:
        async with sending(server.url, auth="own_schemes:Asynchronous") as sender:
            await sender.send()
            assert sender.client.redaction.hide("bad scheme s3cret-scheme") == "bad scheme ***"
        assert server.received[0].headers["authorization"] == "Own s3cret-scheme"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyError("s3cret-header"), "TOKEN_REFUSED"),
        (httpx.ConnectError("s3cret-header"), "TOKEN_UNAVAILABLE"),
        (TimeoutError("s3cret-header"), "TOKEN_UNAVAILABLE"),
    ],
)
async def test_a_bug_of_a_scheme_is_fatal_and_an_outage_is_not(
    error: Exception, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_schemes.Broken, "error", error)
    async with sending("http://localhost", auth="own_schemes:Broken", header__X="s3cret-header") as sender:
        with pytest.raises(RequestError) as raised:
            await sender.send()
    assert raised.value.code == code
    assert f"option 'auth' = 'own_schemes:Broken' raised {type(error).__name__}: " in raised.value.message
    assert "s3cret" not in raised.value.message


async def test_a_scheme_that_sends_nothing_is_fatal() -> None:
    async with sending("http://localhost", auth="own_schemes:Silent") as sender:
        with pytest.raises(RequestError, match="TOKEN_REFUSED: option 'auth' = 'own_schemes:Silent' yields no request"):
            await sender.send()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("own_schemes:Signd", "has no 'Signd'"),
        ("no_such_module:Signed", "install or mend it where the writers run"),
        ("own_schemes:NO_AUTH", "names neither an httpx.Auth nor a class of one"),
        ("own_schemes:WithArguments", "cannot be made without arguments: TypeError"),
    ],
)
async def test_what_is_no_scheme_is_refused_in_words(path: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        async with sending("http://localhost", auth=path):
            pass
    assert "option 'auth'" in str(raised.value)
    assert sentence in str(raised.value)
