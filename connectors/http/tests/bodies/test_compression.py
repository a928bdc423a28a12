"""Bodies compressed, and unpacked by other code than packed them."""

from __future__ import annotations

import sys
import zlib

import pyarrow as pa
import pytest

from asyncsink_http.bodies import compression
from asyncsink_http.bodies.compression import Codec, compressed

BODY = b'[{"a":1}]' * 100


def unpacked(data: bytes, codec: Codec) -> bytes:
    if codec == "gzip":
        return zlib.decompress(data, wbits=31)
    return bytes(pa.CompressedInputStream(pa.py_buffer(data), "zstd").read())


@pytest.mark.parametrize(("codec", "levels"), [("gzip", (None, 1, 9)), ("zstd", (None, 1, 22))])
def test_a_compressed_body_is_read_by_others_and_always_the_same(codec: Codec, levels: tuple[int | None, ...]) -> None:
    for level in levels:
        packed = compressed(BODY, codec, level)
        assert unpacked(packed, codec) == BODY
        assert len(packed) < len(BODY)
        assert compressed(BODY, codec, level) == packed
    assert unpacked(compressed(b"", codec), codec) == b""


def test_the_level_decides_the_size() -> None:
    body = b"".join(b'{"number":%d,"square":%d}' % (number, number * number) for number in range(2000))
    assert len(compressed(body, "gzip", 9)) < len(compressed(body, "gzip")) == len(compressed(body, "gzip", 1))
    assert len(compressed(body, "zstd", 22)) < len(compressed(body, "zstd")) == len(compressed(body, "zstd", 3))


def test_no_time_is_written_into_a_gzip_header() -> None:
    assert compressed(BODY, "gzip")[4:8] == bytes(4)


def test_without_its_library_zstd_is_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    compression._zstd.cache_clear()
    monkeypatch.setitem(sys.modules, "zstandard", None)
    try:
        packed = compressed(BODY, "zstd", 5)
    finally:
        compression._zstd.cache_clear()
    assert unpacked(packed, "zstd") == BODY


def test_without_compression_the_body_is_as_it_is() -> None:
    assert compressed(BODY, "none") is BODY
