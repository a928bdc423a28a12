from __future__ import annotations

import gzip

from asyncsink_http.bodies.compression import compressed

BODY = b'[{"a":1}]' * 100


def test_the_same_body_compresses_to_the_same_bytes() -> None:
    packed = compressed(BODY, "gzip")
    assert gzip.decompress(packed) == BODY
    assert compressed(BODY, "gzip") == packed
    assert packed[4:8] == bytes(4), "the time of a gzip header must be 0"


def test_without_compression_the_body_is_as_it_is() -> None:
    assert compressed(BODY, "none") is BODY
