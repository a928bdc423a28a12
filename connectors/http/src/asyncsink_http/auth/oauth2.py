"""Tokens of OAuth 2's client credentials grant (RFC 6749, 4.4)."""

from __future__ import annotations

import json
import logging
import math
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

import anyio

from asyncsink.errors import RequestError
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import CONNECT, CONNECTION_LOST, TOKEN_REFUSED, TOKEN_UNAVAILABLE
from asyncsink_http.answers.retry_after import retry_after_s
from asyncsink_http.auth.authorizer import Send
from asyncsink_http.auth.token_file import TOKEN
from asyncsink_http.auth.tokens import Token
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import Header, HttpRequest
from asyncsink_http.urls import shown_url

# Answers that say nothing about who asks: too early, too many, or the endpoint's own trouble.
_LATER: Final = frozenset({408, 425, 429})

# For the whole answer; requests to the destination have a deadline of their own, which this is a part of.
_TIMEOUT_S: Final = 10.0

_log = logging.getLogger(__name__)


class ClientCredentials:
    """Asks a token endpoint for tokens, over the client's own connections.

    :param options: resolved ones with ``oauth2.tokenUrl``
    :param send: sends a request as it is and follows no redirect, which would take the secret along
    """

    def __init__(self, options: HttpOptions, redaction: Redaction, send: Send) -> None:
        self._options = options
        self._url = options.oauth2_token_url or ""
        self._redaction = redaction
        self._send = send
        self._request = self._form()
        _warn_of_plain_text(self._url)

    async def fetch(self) -> Token:
        """Ask for a token.

        :raises RequestError: TOKEN_UNAVAILABLE if the endpoint cannot be reached or is in trouble, TOKEN_REFUSED if it
            refuses the client or its answer holds no token, else as the transport has it
        """
        try:
            with anyio.fail_after(_TIMEOUT_S):
                answer = await self._send(self._request)
        except TimeoutError:
            raise self._unavailable(f"no answer in {_TIMEOUT_S:g} s") from None
        except RequestError as error:
            if error.code not in (CONNECT, CONNECTION_LOST):
                raise
            raise self._unavailable(error.message.rstrip(".")) from error
        if not 200 <= answer.status < 300:
            raise self._refusal(answer)
        return self._token_in(answer)

    def _form(self) -> HttpRequest:
        options = self._options
        wanted = {"scope": options.oauth2_scope, "audience": options.oauth2_audience}
        form = {"grant_type": "client_credentials"} | {name: value for name, value in wanted.items() if value}
        client = (options.oauth2_client_id or "", options.oauth2_client_secret or "")
        headers: list[Header] = [
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"identity"),
            (b"Content-Type", b"application/x-www-form-urlencoded"),
            (b"User-Agent", b"asyncsink-http"),
        ]
        if options.oauth2_auth_style == "post":
            form["client_id"], form["client_secret"] = client
        else:
            # RFC 6749, 2.3.1: each is encoded as in a form first.
            basic = b64encode(":".join(quote_plus(each) for each in client).encode())
            self._redaction.learn(basic.decode())
            headers.append((b"Authorization", b"Basic " + basic))
        return HttpRequest("POST", self._url, tuple(headers), urlencode(form).encode(), "token", 1, 0)

    def _token_in(self, answer: HttpAnswer) -> Token:
        found = _json_object(answer.body)
        value = found.get("access_token")
        if not isinstance(value, str) or not TOKEN.fullmatch(value):
            raise RequestError(
                TOKEN_REFUSED,
                f"the answer of {shown_url(self._url)} holds no access_token; check oauth2.tokenUrl, which must be the "
                "endpoint for tokens and not the issuer.",
            )
        self._redaction.learn(value)
        return Token(value, _seconds(found.get("expires_in")))

    def _refusal(self, answer: HttpAnswer) -> RequestError:
        code = _json_object(answer.body).get("error")  # RFC 6749, 5.2: invalid_client and the like
        said = f"HTTP {answer.status}" + (f", {self._redaction.hide(code, 80)}" if isinstance(code, str) else "")
        if answer.status >= 500 or answer.status in _LATER:
            return self._unavailable(said, retry_after_s(answer.headers))
        if 300 <= answer.status < 400:
            said += ", a redirect, which is not followed with a secret"
        return RequestError(
            TOKEN_REFUSED,
            f"the token endpoint {shown_url(self._url)} refuses a token for client {self._options.oauth2_client_id!r}: "
            f"{said}; check oauth2.tokenUrl, oauth2.clientId, oauth2.clientSecret, oauth2.authStyle and oauth2.scope.",
        )

    def _unavailable(self, reason: str, wait_s: float | None = None) -> RequestError:
        shown = shown_url(self._url)
        return RequestError(TOKEN_UNAVAILABLE, f"the token endpoint {shown} has no token now: {reason}.", wait_s)


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(lifetime: object) -> float | None:
    """The life of a token, which some servers write as a string; None where it is told by nothing that can be read."""
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float | str):
        return None
    try:
        seconds = float(lifetime)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _warn_of_plain_text(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme.lower() == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        _log.warning("the client secret goes to the token endpoint at %s without TLS", parts.hostname)
