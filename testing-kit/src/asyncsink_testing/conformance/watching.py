"""What checks look at beside the destination, and wait for: tasks, log records, the text of errors."""

from __future__ import annotations

import asyncio
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio

_POLL_S = 0.002


async def until(holds: Callable[[], bool], within_s: float) -> bool:
    """Whether something comes to hold within so many seconds, of which nobody tells; returns as soon as it does."""
    with anyio.move_on_after(within_s):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await anyio.sleep(_POLL_S)
        return True
    return False


@contextmanager
def rows_left_on_purpose() -> Iterator[None]:
    """Silence the warning that the kernel's writer gives when it is closed with unacknowledged entries, and no other.

    Users run pytest with ``-W error``.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"closed with \d+ unacknowledged", ResourceWarning)
        yield


def live_tasks() -> set[Any]:
    """Every task of this event loop."""
    try:
        return set(asyncio.all_tasks())
    except RuntimeError:  # no loop of asyncio runs, so it is trio's
        import trio.lowlevel

    root = trio.lowlevel.current_root_task()
    found: set[Any] = set()
    waiting = [root] if root is not None else []
    while waiting:
        task = waiting.pop()
        found.add(task)
        waiting.extend(child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return found


def task_name(task: Any) -> str:
    """What a task is called, and what it runs."""
    coroutine = task.get_coro() if isinstance(task, asyncio.Task) else task.coro
    name = task.get_name() if isinstance(task, asyncio.Task) else task.name
    return f"{name} ({getattr(coroutine, '__qualname__', coroutine)})"


def told(error: BaseException) -> str:
    """All that a traceback of `error` shows: its own message and those of its causes."""
    return "".join(traceback.format_exception(error))


class _Lines(logging.Handler):
    """Keeps what log records say, with their arguments and tracebacks."""

    def __init__(self, quiet: tuple[str, ...]) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self._quiet = quiet
        self._format = logging.Formatter("%(name)s %(levelname)s: %(message)s").format

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.INFO and record.name.partition(".")[0] in self._quiet:
            return
        self.lines.append(self._format(record))


@contextmanager
def log_lines(quiet: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Every record that is logged, from level DEBUG on; of the loggers under `quiet` from INFO on.

    What a client library tells at DEBUG, a connector cannot change.
    """
    root, handler = logging.getLogger(), _Lines(quiet)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.lines
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
