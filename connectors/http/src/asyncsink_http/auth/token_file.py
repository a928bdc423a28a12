"""A token in a file that somebody else keeps fresh, such as Kubernetes or Vault's agent."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from asyncsink.errors import RequestError
from asyncsink_http.answers.codes import TOKEN_REFUSED

TOKEN = re.compile(r"[\x21-\x7e]+")
"""A token: a word of visible ASCII, as RFC 6750 has it and somewhat more."""

_LOOK_EVERY_S = 1.0

# Time of the last change, size and number: a file that is put in the place of another may have the same two.
_Stamp = tuple[int, int, int]

_log = logging.getLogger(__name__)


class TokenFile:
    """Reads the token anew when the file has changed, which is looked for at most once a second, and after a refusal.

    A file that is gone or holds no token for a moment leaves the old one in use.
    """

    def __init__(self, path: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path)
        self._clock = clock
        self._lock = anyio.Lock()
        self._value: str | None = None
        self._stamp: _Stamp | None = None
        self._look_at = 0.0

    async def token(self) -> str:
        if self._value is not None and (self._clock() < self._look_at or self._lock.locked()):
            return self._value
        async with self._lock:
            if self._value is None or self._clock() >= self._look_at:
                await self._look()
            return self._value or ""

    async def instead_of(self, refused: str) -> str | None:
        async with self._lock:
            if self._value == refused:
                await self._look()
        return None if self._value == refused else self._value

    async def _look(self) -> None:
        """:raises RequestError: there is no token in the file, and there has been none before"""
        try:
            # In a thread, as the file may lie on a network.
            found = await anyio.to_thread.run_sync(_read, self._path, self._stamp, abandon_on_cancel=True)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            said = f"option 'bearerTokenFile' = {str(self._path)!r} gives no token: {reason}"
            if self._value is None:
                raise RequestError(TOKEN_REFUSED, f"{said}; mend the file where the tasks run.") from None
            _log.warning("%s; the old one is used", said)
        else:
            if found is not None:
                self._stamp, self._value = found
        self._look_at = self._clock() + _LOOK_EVERY_S


def _read(path: Path, stamp: _Stamp | None) -> tuple[_Stamp, str] | None:
    """What the file holds now, with its stamp; None if it has that of `stamp`.

    :raises ValueError: it holds no token
    """
    # The stamp first: what is written in between has another one at the next look.
    status = path.stat()
    found = (status.st_mtime_ns, status.st_size, status.st_ino)
    if found == stamp:
        return None
    # Bytes that are no ASCII are no token, whatever they are: no error may quote them.
    text = path.read_bytes().decode("latin-1").strip()
    if not TOKEN.fullmatch(text):
        raise ValueError("it must hold one word of ASCII" if text else "it is empty")
    return found, text
