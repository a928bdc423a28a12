"""OAUTHBEARER tokens: one for all connections, asked for again before it expires."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed

# Java's sasl.login.refresh.window.factor.
_REFRESH_AFTER = 0.8

# Java's pause after a refresh that failed while the old token still holds.
_AGAIN_AFTER_S = 10.0

_log = logging.getLogger(__name__)


class TokenUnavailableError(KafkaConnectionError):  # type: ignore[misc]  # aiokafka has no annotations
    """There is no token now, but there may be one later. aiokafka takes it for a broker that cannot be reached."""


class TokenRefusedError(SaslAuthenticationFailed):  # type: ignore[misc]  # aiokafka has no annotations
    """There will be no token before somebody mends the configuration. The message says what to mend."""


@dataclass(frozen=True, slots=True)
class Token:
    """What a broker is shown.

    :param expires_at: seconds since the epoch; None: unknown, so the token serves one connection only
    """

    value: str = field(repr=False)
    expires_at: float | None


class TokenCache(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no annotations
    """Asks `fetch` for a token when a connection needs one and four fifths of the last one's life are over.

    One refresh is under way at a time. If it fails while the old token is valid, the old one serves on, and a later
    connection tries again. Connections ask before their sessions end, so nothing has to run in between.

    :param fetch: raises :class:`TokenUnavailableError` or :class:`TokenRefusedError`
    :param clock: seconds since the epoch, as tokens count
    """

    def __init__(self, fetch: Callable[[], Awaitable[Token]], *, clock: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = anyio.Lock()
        self._token: Token | None = None
        self._refresh_at = 0.0

    async def token(self) -> str:
        """A token that is valid now.

        :raises TokenUnavailableError: none can be had now
        :raises TokenRefusedError: none will be had
        """
        async with self._lock:
            if self._token is None or self._clock() >= self._refresh_at:
                await self._refresh()
            assert self._token is not None
            return self._token.value

    async def _refresh(self) -> None:
        asked_at = self._clock()
        try:
            token = await self._fetch()
        except (TokenUnavailableError, TokenRefusedError) as error:
            if self._token is None or self._clock() >= (self._token.expires_at or 0.0):
                raise
            _log.warning("the OAUTHBEARER token is not renewed, the present one is still valid: %s", error)
            self._refresh_at = self._clock() + _AGAIN_AFTER_S
            return
        self._token = token
        expires_at = token.expires_at if token.expires_at is not None else asked_at
        self._refresh_at = asked_at + (expires_at - asked_at) * _REFRESH_AFTER


def expiry_of(jwt: str) -> float | None:
    """The time ``exp`` that a JSON web token names, in seconds since the epoch; None where it is no such token.

    The signature is not checked: the broker does that.
    """
    parts = jwt.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    expires_at = claims.get("exp") if isinstance(claims, dict) else None
    return float(expires_at) if isinstance(expires_at, int | float) else None
