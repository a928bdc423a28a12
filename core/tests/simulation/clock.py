"""Virtual time for trio: it stands still while a task can run, and jumps to the next deadline when none can."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import trio.abc

LEAST_GAP_S = 1e-3
"""Between two deadlines that are nearer to each other nobody looks."""


class VirtualClock(trio.abc.Clock):
    """Like trio's ``MockClock`` that jumps by itself, with half the turns of the loop a jump, and two things more.

    It can creep: every reading is `creep_s` later than the one before, as with a real clock. Where time stands still
    between two jumps, two readings of one instant are always equal, and a writer may rest on that without knowing.

    When no task can run it calls `idle`, once at that instant and once at a time between it and the next deadline:
    whatever could be done has been done, and who missed a wake-up sleeps through the second of these times as well.

    ``wait_all_tasks_blocked`` may not be used beside it.

    :ivar instant_s: when the present instant began; does not creep
    :param idle: whether it did anything after which tasks might run
    """

    def __init__(self, random: Random, creep_s: float = 0.0, idle: Callable[[], bool] = lambda: False) -> None:
        self.instant_s = self._now_s = 0.0
        self._random, self._creep_s, self._idle = random, creep_s, idle
        self._looks = 0

    def start_clock(self) -> None:
        return

    def current_time(self) -> float:
        self._now_s += self._creep_s
        return self._now_s

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Only asked when no task can run; 0 means that the loop goes on without a wait."""
        while self._looks < 2:
            self._looks += 1
            if self._looks == 2:
                if deadline - self._now_s < LEAST_GAP_S:
                    break
                self._now_s = self.instant_s = self._random.uniform(self._now_s, deadline)
            if self._idle():
                return 0.0
        if deadline > self._now_s:
            self._now_s = deadline
        self.instant_s = self._now_s
        self._looks = 0
        return 0.0
