"""Whether an entry fits into the buffer, and waiting until it does."""

from __future__ import annotations

from collections.abc import Callable

from asyncsink.writer.engine import Engine


class Room:
    """The bounds of the buffer, in entries and bytes.

    :param check: raises if the writer has failed or is closed
    """

    __slots__ = ("_check", "_config", "_engine")

    def __init__(self, engine: Engine, check: Callable[[], None]) -> None:
        self._engine, self._config, self._check = engine, engine.config, check

    @property
    def entries(self) -> int:
        """Entries that still fit."""
        return self._config.max_buffered_requests - self._engine.waiting_count

    @property
    def bytes(self) -> int:
        """Bytes that still fit."""
        return self._config.max_buffered_size_in_bytes - self._engine.size_in_bytes

    def fits(self, size: int) -> bool:
        """Whether an entry of `size` bytes may come in; one always may where nothing else is held."""
        engine, config = self._engine, self._config
        engine.close_tail()
        held = engine.size_in_bytes
        return engine.waiting_count < config.max_buffered_requests and (
            not held or held + size <= config.max_buffered_size_in_bytes
        )

    async def wait(self, size: int) -> None:
        """Wait until an entry of `size` bytes fits; raise if the writer has failed or is closed."""
        self._check()
        while not self.fits(size):
            self._engine.make_room(size)
            if not self.fits(size):
                await self._engine.change()
            self._check()
