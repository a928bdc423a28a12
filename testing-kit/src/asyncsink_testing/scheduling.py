"""trio's scheduling, made to repeat itself."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def repeatable_scheduling(seed: int) -> Iterator[None]:
    """Seed the order in which trio runs its tasks: it shuffles them, on purpose, by a generator of its own.

    trio's own tests and Hypothesis do the same; there is no public way.
    """
    scheduler: Any = importlib.import_module("trio._core._run")
    before = scheduler._ALLOW_DETERMINISTIC_SCHEDULING
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(seed)
    try:
        yield
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = before
