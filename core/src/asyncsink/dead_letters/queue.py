"""Letters on their way to a store: gathered on the loop, written in groups, counted when they are durable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

import anyio

from asyncsink.dead_letters.letter import DeadLetter
from asyncsink.dead_letters.store import DeadLetterWriter
from asyncsink.errors import DeadLetterError

MAX_LETTERS: Final = 1000
"""Letters a write."""
MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes a write, about: letters may be as large as ``max_record_size_in_bytes``. One letter is always written."""


class DeadLetterQueue:
    """Writes the letters of one writer in order and in groups. Any :class:`~asyncsink.SinkWriter` composes it.

    The owner starts :meth:`run` in its own task group, and ends it by cancelling. A cancelled write loses nothing: its
    letters are pending as before, and who writes next writes them, perhaps a second time. The first failure of the
    store is final: `on_failed` is told once, :meth:`run` returns, every later call raises it again, and what was
    pending stays pending.

    :param on_written: called on the loop with n when the first n of the pending letters have become durable; must
        not raise
    :param on_failed: called on the loop with the first failure, before the call that met it raises; must not raise
    :param linger_s: seconds for which :meth:`run` lets letters gather, unless a group is full or somebody flushes
    """

    def __init__(
        self,
        writer: DeadLetterWriter,
        *,
        on_written: Callable[[int], None],
        on_failed: Callable[[DeadLetterError], None],
        linger_s: float = 0.2,
    ) -> None:
        self._writer, self._on_written, self._on_failed = writer, on_written, on_failed
        self._linger_s = linger_s
        self._waiting: deque[DeadLetter] = deque()
        self._put_count = self._written_count = 0
        self._lock = anyio.Lock()
        self._gathered: anyio.Event | None = None
        self._enough = 0
        self._failure: DeadLetterError | None = None
        self._cause: BaseException | None = None

    @property
    def pending(self) -> int:
        """Letters that have been put and are not durable."""
        return len(self._waiting)

    @property
    def failure(self) -> DeadLetterError | None:
        """Why nothing is written any more."""
        return self._failure

    def put(self, letters: Sequence[DeadLetter]) -> None:
        """Take letters in, to be written soon; never waits, and has no bound: see :attr:`pending`.

        :raises DeadLetterError: the store has failed; the letters are not taken
        """
        self._check()
        self._waiting.extend(letters)
        self._put_count += len(letters)
        if self._gathered is not None and len(self._waiting) >= self._enough:
            self._gathered.set()

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        """Write letters at once, after what is pending; they are durable when this returns.

        They are never among the pending ones, and `on_written` does not hear of them: who has waited knows. If it is
        cancelled or raises they count as not written, though any of them may have been.

        :raises DeadLetterError: the store has failed
        """
        async with self._lock:
            await self._drain(self._put_count)
            rest = deque(letters)
            while rest:
                group = _group(rest)
                await self._store(group)
                for _ in group:
                    rest.popleft()

    async def flush(self) -> None:
        """Return when everything that was put before the call is durable.

        :raises DeadLetterError: the store has failed
        """
        before = self._put_count
        async with self._lock:
            await self._drain(before)

    async def run(self) -> None:
        """Write what is put, until the store fails; otherwise ended by cancelling its task."""
        try:
            while True:
                await self._gather(1)
                with anyio.move_on_after(self._linger_s):
                    await self._gather(MAX_LETTERS)
                await self.flush()
        except DeadLetterError:
            return  # on_failed has been told, and so is every later call

    async def _gather(self, count: int) -> None:
        """Wait until `count` letters are pending, or the store has failed."""
        while len(self._waiting) < count and self._failure is None:
            self._enough, self._gathered = count, anyio.Event()
            await self._gathered.wait()

    async def _drain(self, before: int) -> None:
        """Write what is pending, at least the first `before` of all that was ever put. The lock is held."""
        self._check()
        while self._written_count < before:
            group = _group(self._waiting)
            await self._store(group)
            # No await from here: what is durable is counted, whoever is cancelled.
            for _ in group:
                self._waiting.popleft()
            self._written_count += len(group)
            self._on_written(len(group))

    async def _store(self, group: Sequence[DeadLetter]) -> None:
        try:
            await self._writer.write(group)
        except Exception as error:
            self._fail(error)
            self._check()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, DeadLetterError):
            self._failure = error
        else:
            self._failure = DeadLetterError(
                f"dead letters cannot be written by {type(self._writer).__qualname__}: {type(error).__name__}: "
                f"{error}; mend the store that dead_letters names and run the task again, which repeats them"
            )
            self._failure.__cause__ = error
        self._cause = self._failure.__cause__
        if self._gathered is not None:
            self._gathered.set()
        self._on_failed(self._failure)

    def _check(self) -> None:
        if self._failure is not None:
            # A new one for each call: callers in different tasks must not share a traceback.
            raise DeadLetterError(*self._failure.args) from self._cause


def _group(letters: deque[DeadLetter]) -> list[DeadLetter]:
    """As many of the first letters as go into one write."""
    return [*_fitting(islice(letters, MAX_LETTERS))]


def _fitting(letters: Iterator[DeadLetter]) -> Iterator[DeadLetter]:
    size = 0
    for at, letter in enumerate(letters):
        size += letter.size_in_bytes
        if at and size > MAX_BYTES:
            return
        yield letter
