"""So much per time: a bucket that paces, within a window that bounds."""

from __future__ import annotations

from collections import deque
from math import ceil

_GUARD_S = 1e-6
"""What is sent at both ends of a window is sent in it, whatever floats make of the ends; also the shortest wait."""

_SLOTS = 10_000
"""Into as many parts a window is told apart, so that neither rate nor length of it decides about memory."""


class Allowance:
    """At most `amount` in any stretch of `per_s` seconds, refilled evenly, and at most `burst` of it at once.

    A bucket alone lets `amount` and `burst` through in one such stretch; the log of the last one keeps the promise.
    Amounts are whole; where `amount` is not, it is the average, and a stretch has the next whole number. More than
    fits at all goes when everything else has left the window, and the bucket is in debt for as long as it takes.
    """

    __slots__ = ("_burst", "_held", "_hold_s", "_log", "_rate", "_slot_s", "_tokens", "_updated_s", "most")

    def __init__(self, amount: float, per_s: float, burst: float) -> None:
        self.most = ceil(amount)
        self._burst = min(float(self.most), max(1.0, burst))
        self._rate = amount / per_s
        self._tokens, self._updated_s = self._burst, 0.0
        self._log: deque[list[float]] = deque()
        """Slots: when the first and the last amount of it went, and their sum."""
        self._held = 0.0
        self._hold_s, self._slot_s = per_s + _GUARD_S, per_s / _SLOTS

    def go_on_from(self, before: Allowance) -> None:
        """Take over what went under another allowance for the same stretch: nothing is let through a second time."""
        self._tokens, self._updated_s = min(self._burst, before._tokens), before._updated_s
        self._log, self._held = before._log, before._held

    def wait_s(self, amount: int, now_s: float) -> float:
        """Seconds until so much may go; 0 for at once."""
        self._refresh(now_s)
        missing = min(float(amount), self._burst) - self._tokens
        pace_s = missing / self._rate if missing > 1e-9 * self._burst else 0.0
        wait_s = max(pace_s, self._window_s(amount, now_s))
        return max(wait_s, _GUARD_S) if wait_s > 0 else 0.0

    def _window_s(self, amount: int, now_s: float) -> float:
        """Seconds until enough of what went has left the window, or all of it."""
        excess, wait_s = self._held + amount - self.most, 0.0
        for _, last_s, sent in self._log:
            if excess <= 0:
                break
            excess -= sent
            wait_s = last_s + self._hold_s - now_s
        return wait_s

    def take(self, amount: int, now_s: float) -> None:
        """So much goes now."""
        self._refresh(now_s)
        self._tokens -= amount
        self._held += amount
        if self._log and now_s - self._log[-1][0] <= self._slot_s:
            self._log[-1][1] = now_s
            self._log[-1][2] += amount
        else:
            self._log.append([now_s, now_s, amount])

    def _refresh(self, now_s: float) -> None:
        elapsed_s = max(0.0, now_s - self._updated_s)
        self._tokens = min(self._burst, self._tokens + elapsed_s * self._rate)
        self._updated_s = max(self._updated_s, now_s)
        while self._log and self._log[0][1] + self._hold_s <= now_s:
            self._held -= self._log.popleft()[2]

    def portion(self, full: float) -> float:
        """The largest part of a `full` batch that is within the burst and of which whole ones fill the allowance."""
        return self.most / ceil(self.most / max(1.0, min(full, self._burst)))
