"""What waits to be sent where every cut is to be the same when the same entries are written again."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable
from math import inf
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock
from asyncsink.writer.buffer import Lane, Run

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig
    from asyncsink.writer.scope import Scope


class Cuts:
    """Where the batches of one writer end: by the entries that were accepted alone, whatever became of any of them.

    A batch ends by count or by bytes, and where all end: at ``flush(True)``, before an entry for which the buffer has
    no room as long as nothing else is sent, and, in a writer with routes, at marks. Routes would else fill the buffer
    with batches of which none is whole, and time would tell which of them has to go.

    :ivar open_size_in_bytes: of all entries that belong to no whole batch yet
    """

    __slots__ = (
        "_buffer_bytes",
        "_mark_bytes",
        "_mark_entries",
        "_since_entries",
        "_since_size",
        "max_batch_size",
        "max_batch_size_in_bytes",
        "open_size_in_bytes",
    )

    def __init__(self, config: AsyncSinkWriterConfig, routed: bool) -> None:
        self.max_batch_size, self.max_batch_size_in_bytes = config.max_batch_size, config.max_batch_size_in_bytes
        self._buffer_bytes = config.max_buffered_size_in_bytes
        self.open_size_in_bytes = 0
        # Half a buffer, so that the other half may fill while this one is sent, but no less than a batch. A single
        # lane has never more than a batch that is not whole, and needs no marks.
        self._mark_entries = max(self.max_batch_size, config.max_buffered_requests // 2) if routed else inf
        self._mark_bytes = max(self.max_batch_size_in_bytes, self._buffer_bytes // 2) if routed else inf
        self._since_entries = self._since_size = 0

    def before_mark(self, block: EntryBlock[Any], start: int, stop: int) -> int:
        """How far from `start` towards `stop` entries may be accepted at once: to the next mark at most."""
        stop = int(min(stop, start + self._mark_entries - self._since_entries))
        left = self._mark_bytes - self._since_size
        if block.size_in_bytes(start, stop) < left:
            return stop
        return start + bisect_left(range(start, stop), left, key=lambda end: block.size_in_bytes(start, end + 1)) + 1

    def accept(self, count: int, size: int) -> bool:
        """Count what was accepted; whether this is a mark."""
        self._since_entries += count
        self._since_size += size
        return self._since_entries >= self._mark_entries or self._since_size >= self._mark_bytes

    def leave_room(self, size: int) -> bool:
        """Whether an entry of `size` bytes will fit into the buffer once all whole batches are gone."""
        return self.open_size_in_bytes + size <= self._buffer_bytes

    def begin(self) -> None:
        """All batches have ended: count anew."""
        self._since_entries = self._since_size = 0


class DeterministicLane(Lane):
    """A lane that cuts its batches as entries come in, and gives out whole ones only."""

    __slots__ = ("_cuts", "_open_count", "_open_size", "_whole")

    is_deterministic = True

    def __init__(self, route: Hashable | None, scope: Scope, cuts: Cuts) -> None:
        super().__init__(route, scope)
        self._cuts = cuts
        self._whole: deque[tuple[int, int]] = deque()
        """Entries and bytes of each batch that has ended, oldest first."""
        self._open_count = self._open_size = 0

    def append(self, run: Run, size: int) -> None:
        super().append(run, size)
        start = run.start
        while start < run.stop:
            start = self._fill(run, start)

    def _fill(self, run: Run, start: int) -> int:
        """Add entries to the open batch until it ends or there are no more; where to go on."""
        cuts, block = self._cuts, run.block
        stop = min(run.stop, start + cuts.max_batch_size - self._open_count)
        size, left = block.size_in_bytes(start, stop), cuts.max_batch_size_in_bytes - self._open_size
        ends = size >= left
        if ends:
            # It ends with the entry that makes it full to the byte: one without bytes would fit yet, but only if it
            # came in time. An entry that would go over is the first of the next batch.
            last = start + bisect_left(range(start, stop), left, key=lambda end: block.size_in_bytes(start, end + 1))
            size = block.size_in_bytes(start, last + 1)
            stop = last + 1 if size == left else last
            size = block.size_in_bytes(start, stop)
        self._open_count += stop - start
        self._open_size += size
        cuts.open_size_in_bytes += size
        if ends or self._open_count == cuts.max_batch_size:
            self.end_batch()
        return stop

    def end_batch(self) -> None:
        """What has come so far is a whole batch, if there is anything."""
        if self._open_count:
            self._whole.append((self._open_count, self._open_size))
            self._cuts.open_size_in_bytes -= self._open_size
            self._open_count = self._open_size = 0
            self.due_before = inf

    def measure(self, most: int, size_limit: int) -> tuple[int, int]:
        """Entries and bytes of the next whole batch, whatever the limits are now; none of what is no whole batch."""
        return self._whole[0] if self._whole else (0, 0)

    def cut(self, count: int, size: int) -> list[Run]:
        self._whole.popleft()
        pieces = super().cut(count, size)
        self.due_before = inf if self._whole else 0
        return pieces
