"""Bodies compressed."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

Codec = Literal["none", "gzip", "zstd"]

_GZIP_LEVEL = 1  # on JSON about 8 times as fast as level 9, for a body that is a fifth larger
_ZSTD_LEVEL = 3  # the library's own default


def compressed(body: bytes, codec: Codec, level: int | None = None) -> bytes:
    """The body in that form; the same bytes for the same body, as no time is written into it.

    :param level: None for the codec's default
    """
    if codec == "gzip":
        return gzip.compress(body, compresslevel=_GZIP_LEVEL if level is None else level, mtime=0)
    if codec == "zstd":
        return _zstd(_ZSTD_LEVEL if level is None else level)(body)
    return body


@cache
def _zstd(level: int) -> Callable[[bytes], bytes]:
    """What compresses with zstd: the library of the extra, else Arrow's, which is there wherever Spark is."""
    if find_spec("zstandard") is not None:
        import zstandard

        # One for each body: a compressor must not be used by two threads, and its making costs 1 us.
        return lambda body: zstandard.ZstdCompressor(level=level).compress(body)
    import pyarrow as pa

    codec: Any = pa.Codec("zstd", compression_level=level)
    return lambda body: bytes(codec.compress(body, asbytes=True))
