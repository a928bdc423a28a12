"""What is said of that which is dropped as the user asks: the first of each code loudly."""

from __future__ import annotations

import logging

MAX_DROPPED_CODES = 100
"""Codes whose first entry is warned of when it is dropped; where codes are made up anew each time, no more."""


class DroppedCodes:
    """Remembers which codes have been warned of. Any writer composes it.

    :param logger: the writer's own
    :param what: the word for what is dropped, with its article
    """

    def __init__(self, logger: logging.Logger, what: str = "an entry") -> None:
        self._logger, self._what = logger, what
        self._codes: set[str] = set()

    def say(self, code: str, message: str) -> None:
        """Warn of the first of each code; the others are told at DEBUG."""
        is_new = code not in self._codes and len(self._codes) < MAX_DROPPED_CODES
        if is_new:
            self._codes.add(code)
        level = logging.WARNING if is_new else logging.DEBUG
        self._logger.log(level, "dropped %s that can never be delivered: %s: %s", self._what, code, message)
