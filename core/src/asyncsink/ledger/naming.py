"""Names of the ledger's files: those that it is asked for, and those that writes use on their way."""

from __future__ import annotations

import re
import time
from typing import Final
from uuid import uuid4

PROBE: Final = ".exclusive"
"""The file by which a store proves that it creates exclusively; made once and kept in an object store."""

LEFT_OVER_AFTER_S: Final = 3600
"""Seconds after which a file set aside belongs to a process that was killed: writing one takes milliseconds."""

_ASIDE: Final = re.compile(r"\..+\.(?P<made>\d+)-[0-9a-f]{32}\.tmp")


def checked(name: str) -> str:
    """A relative name as it came.

    :raises ValueError: it leaves its store, or has parts that are empty or begin with a dot, as files set aside do
    """
    if not name or any(part.startswith(".") or not part for part in name.split("/")) or "\0" in name:
        raise ValueError(
            f"{name!r} is no name within a store; give parts joined by '/', none empty or with a dot first"
        )
    return name


def hidden(name: str) -> bool:
    """Whether a file is the store's own, and none that anyone asked it to keep."""
    return name.startswith(".")


def aside(name: str) -> str:
    """A name in the same folder, for contents that are not finished. It tells when it was made, in Unix seconds."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}.{last}.{int(time.time())}-{uuid4().hex}.tmp"


def left_over(name: str) -> bool:
    """Whether a file was set aside by a process that is no more."""
    match = _ASIDE.fullmatch(name)
    return match is not None and time.time() - int(match["made"]) > LEFT_OVER_AFTER_S
