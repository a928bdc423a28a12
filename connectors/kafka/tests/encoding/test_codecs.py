"""The codecs: read by aiokafka and by their own libraries, and decoded again."""

from __future__ import annotations

import zlib

import lz4.frame
import numpy as np
import pytest
import zstandard
from aiokafka.codec import snappy_decode
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.encoding import codec
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

from .reference import aiokafka_batches, drawn, encoded, read, records, timed

NAMES = ["none", "gzip", "snappy", "lz4", "zstd"]
COMPRESSING = NAMES[1:]
BITS = dict(zip(NAMES, range(5), strict=True))
LEVELS = [("gzip", 1), ("gzip", 9), ("gzip", -1), ("lz4", 1), ("lz4", 9), ("lz4", 17), ("zstd", -5), ("zstd", 19)]
TEXT = b"".join(b'{"id": %d, "city": "Oslo"}' % number for number in range(12_000))
PLAINS = {"short": b"a" * 100, "one snappy block": TEXT[: 32 * 1024], "one lz4 block": TEXT[: 64 * 1024], "long": TEXT}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("plain", PLAINS.values(), ids=PLAINS)
def test_what_was_compressed_comes_back(name: str, plain: bytes) -> None:
    compressed = codec(name).compress(memoryview(plain))
    assert codec(name).decompress(memoryview(compressed), len(plain)) == plain


@pytest.mark.parametrize(("name", "level"), [*((name, None) for name in COMPRESSING), *LEVELS])
def test_the_codecs_own_libraries_read_it(name: str, level: int | None) -> None:
    compressed = codec(name, level).compress(memoryview(TEXT))
    assert _read(name, compressed) == TEXT
    assert len(compressed) < len(TEXT) / 2


def _read(name: str, compressed: bytes) -> bytes:
    readers = {"snappy": snappy_decode, "lz4": lz4.frame.decompress, "zstd": zstandard.decompress}
    return zlib.decompress(compressed, 31) if name == "gzip" else bytes(readers[name](compressed))


def test_an_lz4_frame_is_one_that_kafka_takes() -> None:
    frame = lz4.frame.get_frame_info(codec("lz4").compress(memoryview(TEXT)))
    assert not frame["block_linked"]
    assert not frame["content_checksum"]
    assert not frame["block_checksum"]
    assert frame["block_size"] == 64 * 1024


def test_an_lz4_block_that_does_not_compress_is_stored() -> None:
    incompressible = np.random.default_rng(1).bytes(100_000)
    compressed = codec("lz4").compress(memoryview(incompressible))
    assert len(compressed) <= len(incompressible) + 7 + 2 * 4 + 4
    assert lz4.frame.decompress(compressed) == incompressible
    assert codec("lz4").decompress(memoryview(compressed), len(incompressible)) == incompressible


@pytest.mark.parametrize("name", ["gzip", "lz4", "zstd"])
def test_a_higher_level_compresses_more(name: str) -> None:
    low, high = {"gzip": (1, 9), "lz4": (9, 12), "zstd": (-50, 19)}[name]
    sizes = [len(codec(name, level).compress(memoryview(TEXT))) for level in (low, high)]
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize("name", COMPRESSING)
@drawn
@given(rows=st.lists(records, min_size=1, max_size=40))
def test_aiokafka_reads_what_was_written(name: str, rows: list[KafkaRecord]) -> None:
    (batch,) = encoded(Records.of(rows), compression=name)
    assert [(each.value, each.key, each.headers, each.timestamp) for each in read(batch)] == [
        (each.value, each.key, each.headers, timed(each)) for each in rows
    ]


@pytest.mark.parametrize("name", COMPRESSING)
def test_a_batch_is_compressed_and_says_how(name: str) -> None:
    rows = [KafkaRecord(value=TEXT[:20_000])] * 10
    (batch,) = encoded(Records.of(rows), compression=name)
    assert batch.size_in_bytes < len(aiokafka_batches(rows)[0]) / 2
    assert batch.size_in_bytes == len(batch.seal(1, 2, 3))
    assert int.from_bytes(batch.seal(1, 2, 3)[21:23]) == BITS[name]


@pytest.mark.parametrize("name", COMPRESSING)
def test_a_batch_that_compressing_would_enlarge_goes_as_it_is(name: str) -> None:
    rows = [KafkaRecord(value=b"a", key=b"b")]
    (batch,) = encoded(Records.of(rows), compression=name, transactional=True)
    assert bytes(batch.seal(-1, -1, 0)) == aiokafka_batches(rows, transactional=True)[0]
    assert batch.records().record(0).value == b"a"


@pytest.mark.parametrize(
    ("name", "level", "message"),
    [
        ("brotli", None, "compression is 'brotli'; it must be one of none, gzip, snappy, lz4, zstd"),
        ("gzip", 0, "the level of compression is 0; that of gzip must be from 1 to 9, or left out"),
        ("gzip", 10, "must be from 1 to 9"),
        ("lz4", 18, "must be from 1 to 17"),
        ("lz4", -1, "must be from 1 to 17"),
        ("zstd", 23, "must be from -131072 to 22"),
        ("snappy", 1, "the level of compression is 1, but snappy has no levels; leave it out"),
        ("none", 1, "none has no levels"),
    ],
)
def test_what_no_codec_can_do_is_refused(name: str, level: int | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        codec(name, level)


def test_a_pyarrow_without_the_codec_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking:
        @staticmethod
        def is_available(name: str) -> bool:
            return False

    monkeypatch.setattr("asyncsink_kafka.encoding.codecs.pa.Codec", Lacking)
    with pytest.raises(ConfigurationError, match="built without zstd; install pyarrow from PyPI"):
        codec("zstd")
