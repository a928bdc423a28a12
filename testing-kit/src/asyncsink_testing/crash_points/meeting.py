"""The side of the processes that are killed: what a connector under test calls where a test may want it to wait.

A test names points by files in the folder ``points`` of a query, which lies in the folder of the environment variable
:data:`QUERIES`; the names are the connector's. ``before-slot-2`` and ``after-slot-2`` are around the creation of a file
of the ledger, if that lies where :func:`creating` is called.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

QUERIES: Final = "ASYNCSINK_CRASHING_QUERIES"

DEAF: Final = "deaf"
"""What a file holds that names a point from where on the process does not hear that its daemon is gone."""

FAILING: Final = "failing"
"""What a file holds that names a point at which nobody waits, and the call fails."""


def meet(query: str, point: str) -> None:
    """Wait here if a test wants that; only the first process that comes to the point does.

    :raises OSError: the test wants this call to fail
    """
    named = _folder(query) / "points" / point
    try:
        how = named.read_text()
        named.unlink()
    except FileNotFoundError:
        return
    if how == FAILING:
        raise OSError(f"the test wants a failure at {point}")
    if how == DEAF:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    named.with_suffix(".reached").write_text(f"{os.getpid()}\n")
    # A pipe: this ends when the test opens it too.
    named.with_suffix(".resume").read_bytes()


@contextmanager
def creating(path: str) -> Iterator[None]:
    """A point before a file of a ledger is created, and one after it was; ``<query>/ledger`` is in its path."""
    query, name = path.partition("/ledger/")[0].rpartition("/")[2], path.rpartition("/")[2]
    meet(query, f"before-{name}")
    yield
    meet(query, f"after-{name}")


def note(query: str, event: str) -> None:
    """Write down that this process was asked for something."""
    with (_folder(query) / "events").open("a") as file:
        file.write(f"{event} {os.getpid()}\n")


def last_decided(query: str) -> int:
    """The last attempt that is decided in a ledger on this machine's disk; 0 if none is."""
    slots = (_folder(query) / "ledger").glob("asyncsink/*/transactions/slot-*")
    return max((int(each.name.removeprefix("slot-")) for each in slots), default=0)


def _folder(query: str) -> Path:
    return Path(os.environ[QUERIES], query)
