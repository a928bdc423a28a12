"""What waits to be sent where each key has an order: a key has at most one request under way."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock
from asyncsink.writer.buffer import Lane, Run

if TYPE_CHECKING:
    from asyncsink.writer.request import InFlightRequest
    from asyncsink.writer.scope import Scope

KeysOf = Callable[[EntryBlock[Any]], Sequence[Hashable | None]]


Waiting = tuple[int, Run, int]
"""An entry: its sequence number, and the run in whose block it stands at this index. A bare tuple, for its cost."""

SLACK_IN_BYTES = 1024 * 1024
"""What blocks may keep in memory beyond twice the bytes of the entries that wait."""


class Line:
    """The waiting entries of one key, oldest first.

    :ivar holders: what keeps the key back: its request under way or sealed, and each entry in a backoff of its own
    """

    __slots__ = ("holders", "waiting")

    def __init__(self) -> None:
        self.holders = 0
        self.waiting: deque[Waiting] = deque()

    def put_back(self, entries: list[Waiting]) -> None:
        """Take back entries, in order; they mostly go before all that waits."""
        if not self.waiting or entries[-1][0] < self.waiting[0][0]:
            self.waiting.extendleft(reversed(entries))
        else:
            self.waiting = deque(sorted([*self.waiting, *entries], key=_sequence))


def _sequence(waiting: Waiting) -> int:
    return waiting[0]


class KeyedLane(Lane):
    """A lane that gives out the oldest entries whose keys are free; the others wait, and no key waits for another.

    A generation of a key is what one request holds of it: a single entry, or many if the sink stores requests whole.
    An entry without a key is free at any time. It costs a microsecond or two an entry, where a lane without order
    costs per block.
    """

    __slots__ = (
        "_atomic",
        "_chosen",
        "_heads",
        "_kept_bytes",
        "_keys_of",
        "_left",
        "_line_of_head",
        "_lines",
        "_loose",
    )

    def __init__(self, route: Hashable | None, scope: Scope, keys_of: KeysOf, atomic: bool) -> None:
        super().__init__(route, scope)
        self._keys_of, self._atomic = keys_of, atomic
        self._lines: dict[Hashable, Line] = {}
        self._loose = Line()
        self._heads: list[int] = []
        """A heap of the sequence numbers of the oldest entries of free lines, with some that are so no more."""
        self._line_of_head: dict[int, Line] = {}
        """The line of each number in the heap, which has each number once."""
        self._chosen: list[tuple[Waiting, Line]] = []
        """What :meth:`measure` has found; still counted, but no longer in the lines."""
        self._left: dict[Run, int] = {}
        """How many entries of each run still wait."""
        self._kept_bytes = 0
        """What these runs hold, entries that have gone included."""

    # ---- entries come in -------------------------------------------------------------------------------------

    def append(self, run: Run, size: int) -> None:
        self._put_chosen_back()
        self.count += len(run)
        self.size_in_bytes += size
        for line, waiting in self._by_line(run):
            line.waiting.extend(waiting)
            self._offer(line)

    def give_back(self, run: Run) -> None:
        self._put_chosen_back()
        self.count += len(run)
        self.size_in_bytes += run.size_in_bytes
        for line, waiting in self._by_line(run):
            line.put_back(waiting)
            self._offer(line)

    def _by_line(self, run: Run) -> list[tuple[Line, list[Waiting]]]:
        """The entries of a run, by the lines to which they belong."""
        numbers = range(run.base, run.base + len(run.block)) if run.explicit is None else run.explicit
        found: defaultdict[Hashable | None, list[Waiting]] = defaultdict(list)
        for index, key in enumerate(self._keys_of_run(run), run.start):
            found[key].append((numbers[index], run, index))
        self._left[run] = len(run)
        self._kept_bytes += run.size_in_bytes
        return [(self._line(key), waiting) for key, waiting in found.items()]

    def _line(self, key: Hashable | None) -> Line:
        if key is None:
            return self._loose
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line()
        return line

    def _offer(self, line: Line) -> None:
        """Let a line take part in the choice, if its key is free and it has something."""
        if line.waiting and not line.holders:
            head = line.waiting[0][0]
            if head not in self._line_of_head:
                heappush(self._heads, head)
            self._line_of_head[head] = line

    # ---- entries go out --------------------------------------------------------------------------------------

    @property
    def first_sequence(self) -> float:
        """The sequence number of the oldest entry that may go; infinite if every key is held."""
        if self._chosen:
            return self._chosen[0][0][0]
        line = self._oldest()
        return line.waiting[0][0] if line else inf

    @property
    def oldest_sequence(self) -> float:
        heads = [line.waiting[0][0] for line in (self._loose, *self._lines.values()) if line.waiting]
        heads += [waiting[0] for waiting, _ in self._chosen]
        return min(heads, default=inf)

    def _oldest(self) -> Line | None:
        """The line whose oldest entry is the next to go; heads that no longer are any are forgotten on the way."""
        while self._heads:
            head = self._heads[0]
            line = self._line_of_head[head]
            if not line.holders and line.waiting and line.waiting[0][0] == head:
                return line
            del self._line_of_head[heappop(self._heads)]
        return None

    def measure(self, most: int, size_limit: int) -> tuple[int, int]:
        """Entries and bytes of the next batch; none at all if every key is held."""
        self._put_chosen_back()
        chosen, size, heads, line_of_head = self._chosen, 0, self._heads, self._line_of_head
        while len(chosen) < most and (line := self._oldest()) is not None:
            first = line.waiting[0]
            _, run, at = first
            own = run.block.size_in_bytes(at, at + 1)
            if size + own > size_limit:
                break
            size += own
            chosen.append((first, line))
            line.waiting.popleft()
            del line_of_head[heappop(heads)]
            if self._atomic or line is self._loose:
                self._offer(line)
            else:
                # Held as from now: a request holds one entry of a key unless it is stored whole.
                line.holders = 1
        return len(chosen), size

    def _put_chosen_back(self) -> None:
        if self._chosen:
            for waiting, line in reversed(self._chosen):
                line.holders = 0
                line.waiting.appendleft(waiting)
                self._offer(line)
            self._chosen = []

    def cut(self, count: int, size: int) -> list[Run]:
        """Take out what :meth:`measure` has found; its keys are held from now on."""
        self.count -= count
        self.size_in_bytes -= size
        chosen, self._chosen = self._chosen, []
        pieces: list[tuple[Run, list[int]]] = []
        before = None
        for (_, run, at), line in chosen:
            if line is not self._loose:
                line.holders = 1
            if run is not before:
                pieces.append((run, []))
                before = run
            pieces[-1][1].append(at)
        taken = [run.take(indices, run.attempts, run.failed_ms) for run, indices in pieces]
        self._let_go(pieces)
        return taken

    # ---- memory ----------------------------------------------------------------------------------------------

    def _let_go(self, pieces: list[tuple[Run, list[int]]]) -> None:
        """Forget blocks of which nothing waits any more, and copy what does if it keeps much else in memory."""
        for run, indices in pieces:
            self._left[run] -= len(indices)
            if not self._left[run]:
                del self._left[run]
                self._kept_bytes -= run.size_in_bytes
        if self._kept_bytes > 2 * self.size_in_bytes + SLACK_IN_BYTES:
            self._compact()

    def _compact(self) -> None:
        """Copy what waits of blocks that are partly gone: a key that is held must not keep all that came with it."""
        lines = [self._loose, *self._lines.values()]
        indices: dict[Run, list[int]] = {run: [] for run, left in self._left.items() if left < len(run)}
        for line in lines:
            for _, run, at in line.waiting:
                if run in indices:
                    indices[run].append(at)
        copies: dict[tuple[Run, int], tuple[Run, int]] = {}
        for run, chosen in indices.items():
            chosen.sort()
            copy = run.take(chosen, run.attempts, run.failed_ms)
            copies.update(((run, at), (copy, place)) for place, at in enumerate(chosen, copy.start))
            del self._left[run]
            self._left[copy] = len(copy)
        for line in lines:
            line.waiting = deque((number, *copies.get((run, at), (run, at))) for number, run, at in line.waiting)
        self._kept_bytes = self.size_in_bytes

    # ---- who holds a key -------------------------------------------------------------------------------------

    def hold(self, runs: Iterable[Run]) -> None:
        self._put_chosen_back()
        for key in self._keys(runs):
            self._line(key).holders += 1

    def free(self, runs: Iterable[Run]) -> None:
        self._put_chosen_back()
        for key in self._keys(runs):
            line = self._lines[key]
            line.holders -= 1
            if line.waiting:
                self._offer(line)
            elif not line.holders:
                del self._lines[key]

    def _keys(self, runs: Iterable[Run]) -> dict[Hashable, None]:
        """The distinct keys of some runs."""
        keys = {key: None for run in runs for key in self._keys_of_run(run)}
        keys.pop(None, None)
        return keys

    def _keys_of_run(self, run: Run) -> Sequence[Hashable | None]:
        """The key of each entry of a run; of no other, as a run may be a small part of a large block."""
        if run.keys is not None:
            return run.keys[run.start : run.stop]
        return self._keys_of(run.block.slice(run.start, run.stop))

    @property
    def is_idle(self) -> bool:
        return not (self.count or self.sealed or self.slots) and not any(line.holders for line in self._lines.values())

    def halves(self, request: InFlightRequest[Any]) -> tuple[list[Run], list[Run]]:
        """The entries by keys, so that both halves may be under way at once; by place if all have one key."""
        keys = list(self._keys(request.pieces))
        if len(keys) < 2:
            return super().halves(request)
        first_keys = set(keys[: len(keys) // 2])
        halves: tuple[list[Run], list[Run]] = [], []
        for run in request.pieces:
            chosen: tuple[list[int], list[int]] = [], []
            for index, key in enumerate(self._keys_of_run(run), run.start):
                chosen[key not in first_keys].append(index)
            for half, indices in zip(halves, chosen, strict=True):
                half += [run.take(indices, run.attempts, run.failed_ms)] if indices else []
        return halves

    def share_a_key(self, first: Iterable[Run], second: Iterable[Run]) -> bool:
        return not self._keys(first).keys().isdisjoint(self._keys(second))

    def runs(self) -> Iterator[Run]:
        waiting = [each for line in (self._loose, *self._lines.values()) for each in line.waiting]
        waiting += [each for each, _ in self._chosen]
        for _, run, at in sorted(waiting, key=_sequence):
            yield run.part(at, at + 1)
