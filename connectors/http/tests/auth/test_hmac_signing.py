"""Signatures, computed again by the server over what has arrived."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
from collections.abc import Callable

import anyio
import pytest

from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest, HttpSink
from asyncsink_http.auth.hmac_signing import HmacSigning
from asyncsink_http.auth.make import authorizer_of
from asyncsink_http.redaction import Redaction
from asyncsink_testing import FaultyHttpServer, Reaction, http_server

KEY = "s3cret-key"
URL = "http://localhost"


def signed_with(options: dict[str, str], *, now_s: float = 1_700_000_000.9, body: bytes = b"[1]") -> dict[str, str]:
    read = HttpOptions.from_options({"url": URL, "hmac.secret": KEY, **options}).resolved()
    sent: list[HttpRequest] = []

    async def send(request: HttpRequest) -> HttpAnswer:
        sent.append(request)
        return HttpAnswer(200, "OK", {}, b"")

    unsigned = HttpOptions.from_options({"url": URL}).resolved()
    signing = HmacSigning(read, authorizer_of(unsigned, Redaction(read), send), clock=lambda: now_s)
    request = HttpRequest("POST", URL, ((b"X-Signature", b"forged"),), body, "q/0/0/1", 1, 1)
    anyio.run(signing.exchange, request, send)
    return {name.decode(): value.decode() for name, value in sent[0].headers}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"X-Signature": hmac.new(KEY.encode(), b"[1]", "sha256").hexdigest()}),
        (
            {"hmac.header": "X-Hub-Signature-256", "hmac.prefix": "sha256="},
            {"X-Hub-Signature-256": "sha256=" + hmac.new(KEY.encode(), b"[1]", "sha256").hexdigest()},
        ),
        (
            {"hmac.algorithm": "sha512", "hmac.encoding": "base64"},
            {"X-Signature": base64.b64encode(hmac.new(KEY.encode(), b"[1]", hashlib.sha512).digest()).decode()},
        ),
        (
            {"hmac.timestampHeader": "X-Time"},
            {
                "X-Time": "1700000000",
                "X-Signature": hmac.new(KEY.encode(), b"1700000000.[1]", "sha256").hexdigest(),
            },
        ),
        (
            {"hmac.header": "Authorization", "hmac.prefix": "HMAC "},
            {"Authorization": "HMAC " + hmac.new(KEY.encode(), b"[1]", "sha256").hexdigest()},
        ),
    ],
)
def test_the_body_is_signed_as_the_options_say(options: dict[str, str], expected: dict[str, str]) -> None:
    headers = signed_with(options)
    assert {name: headers[name] for name in expected} == expected


def test_a_known_signature() -> None:
    # GitHub's documentation of webhooks, "Testing the webhook payload validation".
    headers = signed_with({"hmac.secret": "It's a Secret to Everybody"}, body=b"Hello, World!")
    assert headers["X-Signature"] == "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def verifying(times: list[str]) -> Callable[[http_server.HttpRequest], Reaction]:
    """Refuses whatever is not signed as it arrived; the first request that is, is answered 503 all the same."""

    def react(request: http_server.HttpRequest) -> Reaction:
        # The kit's server has unpacked the body; the level is the connector's.
        sent = request.body if "content-encoding" not in request.headers else gzip.compress(request.body, 1, mtime=0)
        assert len(sent) == request.size_in_bytes
        seconds = request.headers["x-time"]
        digest = hmac.new(KEY.encode(), f"{seconds}.".encode() + sent, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(digest, request.headers["x-signature"]):
            return Reaction.refuse(401, b"forged")
        times.append(seconds)
        return Reaction.refuse(503) if len(times) == 1 else Reaction.OK

    return react


@pytest.mark.anyio
@pytest.mark.parametrize("compression", ["none", "gzip"])
async def test_a_server_that_checks_signatures_takes_every_sending(compression: str) -> None:
    times: list[str] = []
    async with FaultyHttpServer(verifying(times)) as server:
        options = {"hmac.secret": KEY, "hmac.timestampHeader": "X-Time", "compression": compression}
        sink = HttpSink.from_options({"url": server.url, "retry.initialBackoff": "1ms", **options})
        async with sink.open() as writer:
            await writer.write_many([{"id": number} for number in range(100)])
    assert [request.stored for request in server.received] == [False, True]
    assert len(times) == 2


def test_every_sending_is_signed_anew() -> None:
    first, later = (signed_with({"hmac.timestampHeader": "X-Time"}, now_s=now_s) for now_s in (1_000.0, 2_000.0))
    assert (first["X-Time"], later["X-Time"]) == ("1000", "2000")
    assert first["X-Signature"] != later["X-Signature"]
