"""What stands behind each row, so that it can be told from the next one at the destination."""

from __future__ import annotations

import re
from typing import Final

_NAMED: Final = {"none": b"", "newline": b"\n"}
_ESCAPES: Final = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}

NEWLINE: Final = b"\n"


def parse_delimiter(text: str) -> bytes | None:
    """The bytes that an option's value stands for: ``none``, ``newline``, or the text itself.

    ``\\n``, ``\\r``, ``\\t``, ``\\0`` and ``\\\\`` may be written for what is hard to type in SQL or a shell. None
    stands for ``auto``: a line end behind what the connector writes as JSON, nothing behind a payload that was ready.
    """
    word = text.strip().lower()
    if word == "auto":
        return None
    if word in _NAMED:
        return _NAMED[word]
    return re.sub(r"\\[nrt0\\]", lambda found: _ESCAPES[found[0]], text).encode()


def delimited(row: bytes, delimiter: bytes) -> bytes:
    """A row with the delimiter behind it; one that has it there already gets no second one.

    :raises ValueError: the row is empty, or the delimiter is found before its end, where it would be cut
    """
    if not delimiter:
        if not row:
            raise ValueError(_EMPTY)
        return row
    bare = row.removesuffix(delimiter)
    if not bare:
        raise ValueError(_EMPTY)
    sent = bare + delimiter
    # A delimiter may begin within the row and end behind it: of x| and || a reader makes x and |.
    if sent.find(delimiter) != len(bare):
        raise ValueError(
            f"the payload holds the delimiter {delimiter!r} and would be taken for several rows; write it without, "
            "or give another delimiter, or delimiter=none"
        )
    return sent


def overlaps_itself(delimiter: bytes) -> bool:
    """Whether it ends as it begins, so that it may be found where a row and it meet, as ``||`` is behind ``x|``."""
    return any(delimiter.startswith(delimiter[at:]) for at in range(1, len(delimiter)))


_EMPTY: Final = "the payload is empty, so nothing of it would be seen at the destination; filter such rows out"
