"""Dead letters: entries and elements that can never be delivered, kept so that they can be sent again.

A part that stands on its own: any :class:`~asyncsink.SinkWriter` makes letters by a :class:`DeadLetterMaker` and hands
them to a :class:`DeadLetterQueue`, which stores them in a :class:`DeadLetterStore` such as :class:`DeadLetterFiles`.
"""

from __future__ import annotations

from asyncsink.dead_letters.files import DeadLetterFiles
from asyncsink.dead_letters.letter import SCHEMA_VERSION, DeadLetter, DeadLetterReason
from asyncsink.dead_letters.maker import DeadLetterMaker
from asyncsink.dead_letters.memory import DeadLetterMemory
from asyncsink.dead_letters.queue import DeadLetterQueue
from asyncsink.dead_letters.reading import as_state, entries_of, read_dead_letters
from asyncsink.dead_letters.store import DeadLetterStore, DeadLetterWriter

__all__ = [
    "SCHEMA_VERSION",
    "DeadLetter",
    "DeadLetterFiles",
    "DeadLetterMaker",
    "DeadLetterMemory",
    "DeadLetterQueue",
    "DeadLetterReason",
    "DeadLetterStore",
    "DeadLetterWriter",
    "as_state",
    "entries_of",
    "read_dead_letters",
]
