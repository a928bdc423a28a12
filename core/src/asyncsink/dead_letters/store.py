"""Where dead letters go: what every store of them promises."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from asyncsink.context import InitContext
from asyncsink.dead_letters.letter import DeadLetter


class DeadLetterWriter(Protocol):
    """Takes the dead letters of one sink's writer; used by one task at a time."""

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        """Store `letters`, in order. They are durable when this returns: they outlive the process.

        If it is cancelled or raises, any of them may have been stored; who writes them again stores them twice.

        :raises DeadLetterError: names the store, what it said and the remedy
        """


@runtime_checkable
class DeadLetterStore(Protocol):
    """A picklable description of where dead letters go, without I/O: ``AsyncSinkWriterConfig(dead_letters=...)``."""

    def open(self, context: InitContext) -> AbstractAsyncContextManager[DeadLetterWriter]:
        """What stores the letters of the writer with `context`, for as long as it is entered.

        No two writers disturb one another, be they those of other partitions, of a repeated task or of a restart.

        :raises ConfigurationError: on entering: something is missing that the store needs
        :raises DeadLetterError: on entering: the store cannot be written to
        """
