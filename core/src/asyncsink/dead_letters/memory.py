"""Dead letters in memory, for tests and simulations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from asyncsink.context import InitContext
from asyncsink.dead_letters.letter import DeadLetter


@dataclass(frozen=True, eq=False)
class DeadLetterMemory:
    """Keeps letters in this process and on its loop: no threads, no files. What is pickled is a copy.

    :param delay_s: seconds that each write takes, on the loop's clock; letters are stored when they have passed
    :param errors: raised by the writes to come, one each, in order; None lets one pass
    :ivar letters: what has been stored, in order
    :ivar groups: the number of letters of each write that stored some
    """

    delay_s: float = 0.0
    errors: list[BaseException | None] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list, repr=False)
    groups: list[int] = field(default_factory=list, repr=False)

    @asynccontextmanager
    async def open(self, context: InitContext) -> AsyncIterator[DeadLetterMemory]:
        """The store itself: the letters of all its writers come together."""
        yield self

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        """Store `letters` after the delay, unless an error is due."""
        await anyio.sleep(self.delay_s)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        self.letters.extend(letters)
        self.groups.append(len(letters))
