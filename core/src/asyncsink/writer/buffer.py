"""What waits to be sent: runs of blocks, one lane per route, in the order of acceptance."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock, fitting

if TYPE_CHECKING:
    from asyncsink.writer.request import InFlightRequest
    from asyncsink.writer.scope import Scope


class Run:
    """Entries `start` to before `stop` of a block, with one history.

    The entry at block index `i` has the sequence number ``base + i``, or ``explicit[i]`` where the block was made by
    ``take`` and its entries were not neighbours. `attempts` counts the answers that called the entries retryable, the
    first of which came at `failed_ms` since the epoch. `keys` are those of the block's entries where the block has none
    itself and order asks for them.
    """

    __slots__ = ("attempts", "base", "block", "explicit", "failed_ms", "keys", "start", "stop")

    def __init__(
        self,
        block: EntryBlock[Any],
        start: int,
        stop: int,
        base: int,
        explicit: Sequence[int] | None = None,
        attempts: int = 0,
        failed_ms: int | None = None,
        keys: Sequence[Hashable | None] | None = None,
    ) -> None:
        self.block, self.start, self.stop = block, start, stop
        self.base, self.explicit, self.attempts, self.failed_ms = base, explicit, attempts, failed_ms
        self.keys = keys

    def __len__(self) -> int:
        return self.stop - self.start

    def sequence_of(self, index: int) -> int:
        """The sequence number of the entry at block index `index`."""
        return self.base + index if self.explicit is None else self.explicit[index]

    @property
    def first_sequence(self) -> int:
        return self.sequence_of(self.start)

    @property
    def last_sequence(self) -> int:
        return self.sequence_of(self.stop - 1)

    @property
    def size_in_bytes(self) -> int:
        return self.block.size_in_bytes(self.start, self.stop)

    def part(self, start: int, stop: int) -> Run:
        """The entries between two block indices, in shared memory."""
        return Run(self.block, start, stop, self.base, self.explicit, self.attempts, self.failed_ms, self.keys)

    def take(self, indices: Sequence[int], attempts: int, failed_ms: int | None) -> Run:
        """The entries at these block indices with another count of attempts; copied unless they are most of the block.

        A copy lets go of the block: one failed entry must not keep thousands of acknowledged ones alive.
        """
        first, count = indices[0], len(indices)
        if indices[-1] - first == count - 1 and count * 2 >= len(self.block):
            return Run(self.block, first, first + count, self.base, self.explicit, attempts, failed_ms, self.keys)
        explicit = [self.sequence_of(index) for index in indices]
        keys = None if self.keys is None else [self.keys[index] for index in indices]
        return Run(self.block.take(indices), 0, count, 0, explicit, attempts, failed_ms, keys)

    def entries(self) -> Iterator[tuple[int, Any, int]]:
        """Each entry as (sequence number, entry, bytes)."""
        block = self.block
        for index in range(self.start, self.stop):
            yield self.sequence_of(index), block[index], block.size_in_bytes(index, index + 1)


class Lane:
    """The entries of one route that wait to be sent, oldest first.

    What came back after a failure was accepted before all that has never been sent, so `returned` goes before
    `fresh`, and only `returned` has to be kept in order. `sealed` requests go before both.
    """

    is_deterministic = False
    """Whether the batches are cut by what was accepted alone; such a batch is never cut anew."""

    __slots__ = ("count", "due_before", "fresh", "returned", "route", "scope", "sealed", "size_in_bytes", "slots")

    def __init__(self, route: Hashable | None, scope: Scope) -> None:
        self.route = route
        self.scope = scope
        self.fresh: deque[Run] = deque()
        self.returned: list[Run] = []
        self.sealed: deque[InFlightRequest[Any]] = deque()
        self.count = 0
        self.size_in_bytes = 0
        self.slots = 0
        """Requests of this lane that are in flight."""
        self.due_before: float = 0
        """Entries with a smaller sequence number are due whatever the thresholds say."""

    def __bool__(self) -> bool:
        return bool(self.count or self.sealed)

    @property
    def is_idle(self) -> bool:
        """Whether the lane could be forgotten: it holds nothing, and nothing of it is under way."""
        return not (self.count or self.sealed or self.slots)

    @property
    def first_sequence(self) -> float:
        """The sequence number of the oldest entry that may be cut; only asked of a lane with a count."""
        return (self.returned[0] if self.returned else self.fresh[0]).first_sequence

    @property
    def oldest_sequence(self) -> float:
        """The sequence number of the oldest entry that waits, whether it may be cut or not; infinite if none does."""
        return self.first_sequence if self.count else inf

    def runs(self) -> Iterable[Run]:
        return chain(self.returned, self.fresh) if self.returned else self.fresh

    def append(self, run: Run, size: int) -> None:
        """Add newly accepted entries."""
        self.fresh.append(run)
        self.count += run.stop - run.start
        self.size_in_bytes += size

    def give_back(self, run: Run) -> None:
        """Take back entries that have been sent: before all that was accepted later, in the order of acceptance."""
        self.count += len(run)
        self.size_in_bytes += run.size_in_bytes
        returned = self.returned
        at = bisect_left(returned, run.first_sequence, key=lambda each: each.first_sequence)
        low = at - 1 if at and returned[at - 1].last_sequence > run.first_sequence else at
        high = bisect_left(returned, run.last_sequence, lo=at, key=lambda each: each.first_sequence)
        returned[low:high] = _interleaved([*returned[low:at], run, *returned[at:high]])

    def measure(self, most: int, size_limit: int) -> tuple[int, int]:
        """Entries and bytes of the next batch: it stops at the first entry that would go over either limit."""
        first = self.returned[0] if self.returned else self.fresh[0]
        if first.stop - first.start >= most:
            size = first.block.size_in_bytes(first.start, first.start + most)
            if size <= size_limit:
                return most, size
        count = size = 0
        for run in self.runs():
            stop = min(run.stop, run.start + most - count)
            part = run.block.size_in_bytes(run.start, stop)
            if size + part > size_limit:
                stop = fitting(run.block, run.start, stop, size_limit - size)
                return count + stop - run.start, size + run.block.size_in_bytes(run.start, stop)
            count += stop - run.start
            size += part
            if count == most:
                break
        return count, size

    def cut(self, count: int, size: int) -> list[Run]:
        """Take out the first `count` entries, which :meth:`measure` found to be of `size` bytes."""
        self.count -= count
        self.size_in_bytes -= size
        pieces: list[Run] = []
        while count:
            queue: deque[Run] | list[Run] = self.returned or self.fresh
            run = queue[0]
            if run.stop - run.start <= count:
                pieces.append(run)
                del queue[0]
                count -= run.stop - run.start
            else:
                middle = run.start + count
                pieces.append(run.part(run.start, middle))
                run.start = middle
                break
        if self.due_before and not (self.count and self.first_sequence < self.due_before):
            self.due_before = 0
        return pieces

    def halves(self, request: InFlightRequest[Any]) -> tuple[list[Run], list[Run]]:
        """The entries of a request in two parts, each of at least one entry; only asked of a request of two or more."""
        left = len(request) // 2
        first: list[Run] = []
        second: list[Run] = []
        for run in request.pieces:
            middle = min(run.stop, run.start + left)
            left -= middle - run.start
            first += [run.part(run.start, middle)] if middle > run.start else []
            second += [run.part(middle, run.stop)] if run.stop > middle else []
        return first, second

    # ---- order, where keys have one: see KeyedLane -----------------------------------------------------------

    def hold(self, runs: Iterable[Run]) -> None:
        """Keep back whatever has a key that one of these entries has."""

    def free(self, runs: Iterable[Run]) -> None:
        """No longer keep back what has a key of these entries; each hold is to be freed once, and so is each cut."""

    def share_a_key(self, first: Iterable[Run], second: Iterable[Run]) -> bool:
        """Whether entries of both belong in order."""
        return False


def _interleaved(runs: list[Run]) -> list[Run]:
    """Runs whose sequence numbers overlap, cut up so that one follows the other."""
    if len(runs) == 1:
        return runs
    places = sorted((run.sequence_of(index), which, index) for which, run in enumerate(runs) for index in _indices(run))
    parts: list[Run] = []
    before = -1
    for _, which, index in places:
        if which == before and parts[-1].stop == index:
            parts[-1].stop = index + 1
        else:
            parts.append(runs[which].part(index, index + 1))
        before = which
    return parts


def _indices(run: Run) -> range:
    return range(run.start, run.stop)
