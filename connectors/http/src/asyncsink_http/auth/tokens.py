"""Tokens: one for all requests, asked for again before it expires."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from asyncsink.errors import RequestError

# The part of a token's life after which another is asked for at the latest, and the part before which none is.
_LATEST, _EARLIEST = 0.8, 0.5

# The pause after an endpoint has failed while the old token still holds.
_AGAIN_AFTER_S = 10.0

_log = logging.getLogger(__name__)


class Tokens(Protocol):
    """Where tokens come from."""

    async def token(self) -> str:
        """A token that is valid now.

        :raises RequestError: there is none; its code says whether there may be one later
        """
        ...

    async def instead_of(self, refused: str) -> str | None:
        """A token in place of one that the server has refused; None if there is no other.

        :raises RequestError: as :meth:`token` does
        """
        ...


@dataclass(frozen=True, slots=True)
class Token:
    """What a server is shown.

    :param life_s: how long it is valid from when it was asked for; None: until it is refused
    """

    value: str = field(repr=False)
    life_s: float | None


class TokenCache:
    """Asks `fetch` for a token when there is none that is valid, and for the next one ahead of its end.

    One fetch is under way at a time, and all that wait for it share what comes of it. Ahead of a token's end one
    request waits while the others go on with the old one, and a fetch that fails then changes nothing: the old token
    serves on, and ten seconds later the next request asks again.

    :param fetch: raises RequestError
    :param refresh_before_s: how long before its end the next token is asked for
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Token]],
        refresh_before_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._refresh_before_s = refresh_before_s
        self._clock = clock
        self._lock = anyio.Lock()
        self._value: str | None = None
        self._expires_at = -math.inf
        self._refresh_at = -math.inf
        self._fetches = 0
        self._failure: RequestError | None = None

    async def token(self) -> str:
        value = self._valid()
        if value is None:
            return await self._renewed()
        if self._clock() < self._refresh_at or self._lock.locked():
            return value
        try:
            return await self._renewed()
        except RequestError as error:
            if self._valid() is None:
                raise
            _log.warning("the token is not renewed, the present one is still valid: %s", error)
            return value

    async def instead_of(self, refused: str) -> str | None:
        if self._value == refused:
            self._expires_at = -math.inf
        value = await self.token()
        return None if value == refused else value

    def _valid(self) -> str | None:
        return self._value if self._clock() < self._expires_at else None

    async def _renewed(self) -> str:
        fetches = self._fetches
        async with self._lock:
            if fetches == self._fetches:
                await self._ask()
        if self._failure is not None:
            raise RequestError(*self._failure.args) from self._failure
        assert self._value is not None
        return self._value

    async def _ask(self) -> None:
        asked_at = self._clock()
        # Now, because this may be cancelled: no second request is to wait for an endpoint that hangs.
        self._refresh_at = asked_at + _AGAIN_AFTER_S
        try:
            token = await self._fetch()
        except RequestError as error:
            self._failure = error
        else:
            self._failure = None
            self._take(token, asked_at)
        self._fetches += 1

    def _take(self, token: Token, asked_at: float) -> None:
        life_s = math.inf if token.life_s is None else token.life_s
        self._value = token.value
        self._expires_at = asked_at + life_s
        early_s = min(life_s * _LATEST, life_s - self._refresh_before_s)
        self._refresh_at = asked_at + max(early_s, life_s * _EARLIEST)
