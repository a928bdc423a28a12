"""Kills a run, within this process, at every point where something outside of it changes or is looked at."""

from __future__ import annotations

import re
from pathlib import Path

from asyncsink.ledger.local import LocalStore


class Killed(BaseException):
    """Stands for a SIGKILL: nothing catches it, and nothing is tidied up for it."""


class Points:
    """Counts the points that a run comes to, and kills it at one of them; a killed run comes no further.

    :param kill_at: the point, by its number from 0 or by a pattern of its name; None to come to all of them
    """

    def __init__(self, kill_at: int | re.Pattern[str] | None = None) -> None:
        self.passed: list[str] = []
        self._kill_at = kill_at

    def __call__(self, what: str) -> None:
        if self._is_last(what):
            raise Killed(what)
        self.passed.append(what)

    def _is_last(self, what: str) -> bool:
        if isinstance(self._kill_at, re.Pattern):
            return self._kill_at.match(what) is not None
        return len(self.passed) == self._kill_at


class WatchedStore(LocalStore):
    """A ledger's folder, each of whose calls is a point, or two: before its effect, and after it."""

    points: Points

    @classmethod
    def at(cls, folder: Path, points: Points) -> WatchedStore:
        """The store in a folder."""
        store = cls(folder)
        store.points = points
        return store

    def within(self, folder: str) -> WatchedStore:
        deeper = WatchedStore(self._path(folder), f"{self.location}/{folder}")
        deeper.points = self.points
        return deeper

    def create(self, name: str, data: bytes) -> bool:
        self.points(f"before creating {name}")
        created = super().create(name, data)
        self.points(f"after creating {name}")
        return created

    def read(self, name: str) -> bytes | None:
        self.points(f"before reading {name}")
        return super().read(name)

    def remove(self, *names: str) -> None:
        self.points(f"before removing {names}")
        super().remove(*names)
