"""What a flush waits for, and what is looked at when it has come to its end."""

from __future__ import annotations

from collections.abc import Callable

from asyncsink.errors import DeliveryError
from asyncsink.writer import holdings
from asyncsink.writer.engine import Engine
from asyncsink.writer.rejecting import Rejections


class Flusher:
    """Flushes one writer; several flushes may be under way.

    :param check: raises if the writer has failed or is closed
    """

    __slots__ = ("_check", "_engine", "_flushes", "_rejections")

    def __init__(self, engine: Engine, rejections: Rejections, check: Callable[[], None]) -> None:
        self._engine, self._rejections, self._check = engine, rejections, check
        self._flushes = 0

    async def flush(self, end_of_input: bool) -> None:
        """Wait for all entries, or for the requests in flight; then for dead letters; then audit.

        :raises DeliveryError: the destination did not take what was accepted
        """
        self._check()
        self._engine.close_tail()
        await (self._drain() if end_of_input else self._settle_in_flight())
        await self._rejections.flush()
        self._check()
        self._audit()

    async def _settle_in_flight(self) -> None:
        engine = self._engine
        last = next(reversed(engine.in_flight), 0)
        while next(iter(engine.in_flight), last + 1) <= last:
            await engine.change()
            self._check()

    async def _drain(self) -> None:
        engine = self._engine
        before = engine.next_sequence
        self._flushes += 1
        try:
            engine.make_due_before(before)
            # Where an entry was lost there is nothing to be done, and it would be waited for in vain: the audit tells.
            while engine.accounting.unacknowledged > len(engine.condemned) and (
                (engine.next_sequence == before and not engine.time.is_resting)
                or holdings.first_undecided(engine) < before
            ):
                await engine.change()
                self._check()
        finally:
            self._flushes -= 1
            if not self._flushes:
                engine.flush_before = 0

    def _audit(self) -> None:
        """Fail if the counts do not add up, or too much was rejected."""
        engine = self._engine
        try:
            engine.close_tail()
            engine.accounting.check(holdings.held_count(engine))
            engine.accounting.check_rejected(engine.config.max_rejected, len(engine.condemned))
        except DeliveryError as error:
            engine.fail(error)
            self._check()
