"""One scope as a single writer sees it."""

from __future__ import annotations

from collections.abc import Hashable

from asyncsink.limits.limiter import Limiter


class Scope:
    """The limiter of a scope, shared with other writers, and what this writer has to do with it.

    :ivar slots: requests of this writer that are in flight in the scope
    :ivar lanes: lanes of this writer that belong to the scope
    """

    __slots__ = ("lanes", "limiter", "name", "slots")

    def __init__(self, name: Hashable | None, limiter: Limiter) -> None:
        self.name = name
        self.limiter = limiter
        self.slots = 0
        self.lanes = 0
