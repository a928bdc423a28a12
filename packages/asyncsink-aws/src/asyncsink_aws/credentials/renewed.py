"""Credentials that are fetched when they are first needed, and again ahead of their expiry."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import anyio
from botocore.credentials import ReadOnlyCredentials

from asyncsink_aws.keys import AwsKeys

EARLY_S: Final = 900.0
"""How long before the expiry one request waits for new credentials while the others go on; botocore's number."""

LATE_S: Final = 600.0
"""How long before the expiry every request waits for new credentials; botocore's number."""

EARLY_SHARE: Final = 0.25
LATE_SHARE: Final = 0.15
"""The same as parts of a life, for shorter ones: botocore would renew credentials of 15 minutes for every request."""

RETRY_AFTER_S: Final = 30.0
"""How long an early renewal that failed is not tried again."""

Fetch = Callable[[], Awaitable[AwsKeys]]

_log = logging.getLogger(__name__)


class RenewedCredentials:
    """What botocore's signer takes for credentials, fetched again and again by one function.

    One renewal runs at a time. If an early one fails, a warning says so and the old credentials sign until it is late;
    then its error is raised.

    :param fetch: returns new keys; raises botocore's errors
    :param method: where the keys come from, as messages name it
    :param clock: seconds since the epoch
    """

    def __init__(self, fetch: Fetch, method: str, clock: Callable[[], float] = time.time) -> None:
        self.method = method
        self._fetch = fetch
        self._clock = clock
        self._lock = anyio.Lock()
        self._keys: ReadOnlyCredentials | None = None
        self._expires_at: float | None = None
        self._life_s = 0.0
        self._failed_at: float | None = None

    async def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The present keys, renewed before if it is time.

        :raises Exception: what fetching raised, if there are no keys that hold for longer
        """
        if self._is_late():
            async with self._lock:
                if self._is_late():
                    await self._renew()
        elif self._is_early() and not self._lock.locked():
            async with self._lock:
                await self._renew_early()
        return self._keys

    def _is_late(self) -> bool:
        return self._keys is None or self._left_s() < min(LATE_S, self._life_s * LATE_SHARE)

    def _is_early(self) -> bool:
        if self._failed_at is not None and self._clock() < self._failed_at + RETRY_AFTER_S:
            return False
        return self._left_s() < min(EARLY_S, self._life_s * EARLY_SHARE)

    def _left_s(self) -> float:
        return float("inf") if self._expires_at is None else self._expires_at - self._clock()

    async def _renew(self) -> None:
        keys = await self._fetch()
        at = keys.expires_at
        self._expires_at = at.timestamp() if isinstance(at, datetime) else at
        self._life_s = self._left_s()
        self._keys = ReadOnlyCredentials(keys.access_key_id, keys.secret_access_key, keys.session_token)

    async def _renew_early(self) -> None:
        try:
            await self._renew()
        except Exception as error:
            self._failed_at = self._clock()
            # Its message may quote what was given to it; the error itself follows when it is late.
            _log.warning(
                "credentials by %s expire in %d s and could not be renewed (%s); trying again in %d s",
                self.method,
                self._left_s(),
                type(error).__name__,
                RETRY_AFTER_S,
            )
