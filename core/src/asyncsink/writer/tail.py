"""Where elements written one by one gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink.writer.engine import Engine


class OpenTail:
    """Up to one batch of entries that are accepted, but not yet a block.

    What an element costs is decided here: while the tail is open, nothing that the engine counts has changed, so a
    write looks at two numbers only. Everything else that reads the engine's counts closes the tail first.

    :ivar room: entries that may still come before the tail has to be closed; 0 while it is closed
    :ivar offset: bytes, likewise, but counted up to 0; an entry that brings it there, or beyond, has to be looked at
    :ivar offsets: what the offset was before each entry, and what it is: a block takes them as they are
    :ivar numbered: elements of the writer that have a number and are not in the tail
    """

    __slots__ = ("_engine", "entries", "numbered", "offset", "offsets", "room")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.entries: list[Any] = []
        self.offsets: list[int] = [0]
        self.room = self.offset = self.numbered = 0

    @property
    def next_number(self) -> int:
        """The position of the next element among those of the writer, from 0; kept of none that need not wait."""
        return self.numbered + len(self.entries)

    def number(self, count: int) -> int:
        """Give `count` elements their numbers before any other gets one; that of the first."""
        first = self.next_number
        self.numbered += count
        return first

    def open(self) -> None:
        """Open a closed tail as far as the buffer has room and the lane lacks entries to be due."""
        engine, config = self._engine, self._engine.config
        room, size = (1, 1) if engine.maker.asks_each else engine.room_in_lane()
        self.room = min(room, config.max_buffered_requests - engine.waiting_count)
        # No more than a record may have: a write that finds its entry to fit need not ask whether it is too large.
        left = config.max_buffered_size_in_bytes - engine.size_in_bytes
        self.offset = -min(size, left, engine.max_record_size_in_bytes)
        self.offsets = [self.offset]
        if engine.cuts is None:
            engine.time.arm()

    def append(self, entry: Any, size: int) -> None:
        """Take one entry that has its number; a write that finds room needs none, and takes its entry by itself, for a
        call costs as much as the rest.
        """
        self.numbered -= 1
        self.entries.append(entry)
        self.offset += size
        self.offsets.append(self.offset)
        self.room -= 1

    def close(self) -> int:
        """Hand the entries to the engine as a block; the number of them."""
        entries, offsets = self.entries, self.offsets
        self.room = self.offset = 0
        if entries:
            self.numbered += len(entries)
            self.entries, self.offsets = [], [0]
            self._engine.add(self._engine.maker.of_offsets(entries, offsets), offsets[-1] - offsets[0])
        return len(entries)
