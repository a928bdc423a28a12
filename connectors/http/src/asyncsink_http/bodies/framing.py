"""From the entries of a request to its body."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

from asyncsink_http.entries.converter import HttpEntry, KeyedEntry
from asyncsink_http.options.http_options import Body

_GZIP_LEVEL = 1  # on JSON about 8 times as fast as level 9, for a body that is a fifth larger

_OVERHEAD = {"json-array": 2, "ndjson": 1, "single": 0}


def encode_body(entries: Iterable[HttpEntry], body: Body) -> bytes:
    """The body of a request, uncompressed: ``[a,b]``, ``a\\nb\\n``, or the one entry as it is."""
    payloads = [entry.payload if isinstance(entry, KeyedEntry) else entry for entry in entries]
    if body == "json-array":
        return b"[" + b",".join(payloads) + b"]"
    if body == "ndjson":
        return b"\n".join(payloads) + b"\n"
    (payload,) = payloads
    return payload


def compress(body: bytes) -> bytes:
    """The body as gzip; the same bytes for the same body, as no time is written into it."""
    return gzip.compress(body, compresslevel=_GZIP_LEVEL, mtime=0)


def overhead_in_bytes(body: Body) -> int:
    """Bytes that an entry counts beside its own, so that no body is larger than the sum of what its entries count.

    ndjson adds a line end to each. json-array adds a comma between two and two brackets around all: counted as two
    for each entry, which a request of one entry needs, and which is a byte too many for every further one.
    """
    return _OVERHEAD[body]
