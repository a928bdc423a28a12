"""Tokens of OAuth 2's client credentials grant (RFC 6749, 4.4), as Java's client fetches them (KIP-768)."""

from __future__ import annotations

import base64
import json
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import anyio.to_thread

from asyncsink_kafka.security.tokens import Token, TokenRefusedError, TokenUnavailableError, expiry_of

# Answers that say nothing about who asks: too early, too many, or the endpoint's own trouble.
_LATER = frozenset((408, 425, 429))

# A token is a few kB; whoever answers more is no token endpoint.
_MAX_ANSWER_BYTES = 1 << 20

_SECRET_OPTION = "saslOauthbearerClientSecret"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """Where tokens come from, and who asks for them.

    :param timeout_s: for connecting, and for each read of the answer
    """

    token_endpoint_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    timeout_s: float = 10.0
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        parts = urlsplit(self.token_endpoint_url)
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            _log.warning("the client secret goes to the token endpoint at %s without TLS", parts.hostname)

    async def fetch(self) -> Token:
        """Ask for a token, in a thread.

        :raises TokenUnavailableError: the endpoint cannot be reached or is in trouble
        :raises TokenRefusedError: it refuses the client, or its answer holds no token
        """
        return await anyio.to_thread.run_sync(self._fetch, abandon_on_cancel=True)

    def _fetch(self) -> Token:
        opener = build_opener(HTTPSHandler(context=ssl.create_default_context()), _NoRedirects())
        try:
            with opener.open(self._request(), timeout=self.timeout_s) as answer:
                return self._token_in(answer.read(_MAX_ANSWER_BYTES))
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None  # its headers and its request hold the secret
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise TokenUnavailableError(
                f"the token endpoint {self._shown_url} does not answer: {reason or type(error).__name__}"
            ) from error

    def _request(self) -> Request:
        form = {"grant_type": "client_credentials", **({"scope": self.scope} if self.scope else {})}
        basic = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        headers = {
            "Accept": "application/json",
            "Authorization": f"Basic {basic}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return Request(self.token_endpoint_url, urlencode(form).encode(), headers, method="POST")

    def _token_in(self, body: bytes) -> Token:
        answer = _json_object(body)
        # Java's client takes an id_token too, which some identity providers answer with.
        value = answer.get("access_token") or answer.get("id_token")
        if not isinstance(value, str):
            raise TokenRefusedError(
                f"the answer of {self._shown_url} holds no access_token; check "
                "saslOauthbearerTokenEndpointUrl, which must be the endpoint for tokens and not the issuer"
            )
        lifetime = answer.get("expires_in")
        if isinstance(lifetime, int | float | str) and str(lifetime).replace(".", "", 1).isdigit():
            return Token(value, self.clock() + float(lifetime))
        return Token(value, expiry_of(value))

    def _refusal(self, error: HTTPError) -> TokenRefusedError | TokenUnavailableError:
        code = _json_object(error.read(_MAX_ANSWER_BYTES)).get("error")  # RFC 6749, 5.2: invalid_client and the like
        said = f"HTTP {error.code}" + (f", {code}" if isinstance(code, str) and len(code) <= 80 else "")
        if error.code >= 500 or error.code in _LATER:
            return TokenUnavailableError(f"the token endpoint {self._shown_url} has no token now: {said}")
        if 300 <= error.code < 400:
            said += ", a redirect, which is not followed with a secret"
        return TokenRefusedError(
            f"the token endpoint {self._shown_url} refuses a token for client {self.client_id!r}: {said}; check the "
            f"endpoint's URL, the client's id, its secret ({_SECRET_OPTION}) and the scope"
        )

    @property
    def _shown_url(self) -> str:
        parts = urlsplit(self.token_endpoint_url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


class _NoRedirects(HTTPRedirectHandler):
    """Leaves a redirect as the error it is here: following it would hand the secret to another host."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str) -> None:
        return None


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
