"""Rows that are for a cluster and in no writer yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from asyncsink_dynamic_kafka.writer.routed import Routed

AT_ONCE: Final = 256 * 1024
"""Bytes of rows up to which several runs are handed over as one."""


class Waiting:
    """Runs of rows in order, the first of which may just be handed over.

    :ivar rows: how many rows they have
    :ivar size_in_bytes: of these rows as columns
    """

    def __init__(self) -> None:
        self._runs: deque[Routed] = deque()
        self._handed = 0
        self.rows = self.size_in_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._runs)

    def put(self, routed: Routed) -> None:
        self._runs.append(routed)
        self.rows += len(routed)
        self.size_in_bytes += routed.nbytes

    def hand(self) -> list[Routed]:
        """The first rows, which nobody else gets until :meth:`took` is called: small runs together.

        Their sequences ascend: rows that have come from another cluster are handed over by themselves.
        """
        handed: list[Routed] = []
        size_in_bytes, last = 0, -1
        for each in self._runs:
            size_in_bytes += each.nbytes
            sequence = each.block.records.sequence
            if handed and (size_in_bytes > AT_ONCE or int(sequence[0]) < last):
                break
            handed.append(each)
            last = int(sequence[-1])
        self._handed = len(handed)
        return handed

    def took(self, count: int) -> None:
        """So many of the first rows are the writer's."""
        self._handed = 0
        self.rows -= count
        while count:
            first = self._runs.popleft()
            self.size_in_bytes -= first.nbytes
            if count < len(first):
                rest = first.rest(count)
                self._runs.appendleft(rest)
                self.size_in_bytes += rest.nbytes
            count -= min(count, len(first))

    def take(self, goes: Callable[[Routed], bool]) -> list[Routed]:
        """The runs that are to go elsewhere; none of those that are handed over."""
        # A call that is under way has to say first how many it has handed over.
        runs = [*self._runs]
        taken = [each for each in runs[self._handed :] if goes(each)]
        kept = [each for each in runs[self._handed :] if not goes(each)] if taken else runs[self._handed :]
        self._runs = deque([*runs[: self._handed], *kept])
        self.rows -= sum(map(len, taken))
        self.size_in_bytes -= sum(each.nbytes for each in taken)
        return taken

    def drain(self) -> list[Routed]:
        """All of them."""
        runs = [*self._runs]
        self._runs.clear()
        self._handed = self.rows = self.size_in_bytes = 0
        return runs
