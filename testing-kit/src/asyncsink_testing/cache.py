"""What is fetched once for each user, such as the programs of a service, and kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def kept(name: str, make: Callable[[Path], Path], cache: Path | None = None) -> Path:
    """The folder of this name; made once, however many ask at once.

    :param name: with the version of what is in it
    :param make: makes the folder, below the empty one that it is given, and returns it
    :param cache: where it is kept; by default ``asyncsink-testing`` in the user's cache
    """
    cache = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "asyncsink-testing"
    wanted = cache / name
    if wanted.is_dir():
        return wanted
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{name}.lock"):
        if not wanted.is_dir():
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                make(Path(folder)).rename(wanted)
    return wanted


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The lock ends with the process that holds it, so one that is killed stops nobody."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
