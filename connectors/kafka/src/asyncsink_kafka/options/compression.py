"""Which levels the codecs have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LEVELS: Final[Mapping[str, range]] = {"gzip": range(1, 10), "lz4": range(1, 18), "zstd": range(-131072, 23)}
"""By codec, as Java's ``compression.<name>.level`` (KIP-390); those that are not here have none."""

GZIPS_OWN: Final = -1
"""The level of gzip that is zlib's own; other codecs have no such word."""


def broken_rule(codec: str, level: int) -> str | None:
    """What a level of a codec that has levels must be, as "from 1 to 9"; None where it is so."""
    levels = LEVELS[codec]
    if level in levels or (codec, level) == ("gzip", GZIPS_OWN):
        return None
    return f"from {levels[0]} to {levels[-1]}"
