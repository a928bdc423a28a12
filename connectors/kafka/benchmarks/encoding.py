"""The time to encode rows as record batches, against aiokafka's own builder, and of each codec against its own library.

``python connectors/kafka/benchmarks/encoding.py [--json FILE] [--rounds N]``

Both sides encode the same 10 000 rows for 4 partitions in turn, checksum included; the peer is fed the Python objects
that it wants, whose making is not counted. What counts is the processor's time of this process. The codecs get
the bytes of a batch that our encoder made of rows that look like JSON. Exit status 1 if encoding is slower than the
peer, or a codec takes more than 1.3 times as long as its own library at the same level.

Beside aiokafka it needs python-lz4, zstandard and cramjam, the peers of the codecs.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import cramjam
import lz4.frame
import numpy as np
import pyarrow as pa
import zstandard
from aiokafka.producer.message_accumulator import BatchBuilder

from asyncsink_kafka.encoding import ReadyBatch, codec, encode
from asyncsink_kafka.records import Records
from asyncsink_testing.bench import Comparison, Run, arguments, compare, interleave, report

ROWS = 10_000
SLOTS = 4
BATCH_BYTES = 900_000
NONE = codec("none")
NOW_MS = 1_700_000_000_000
BUILDER = f"aiokafka {aiokafka.__version__} BatchBuilder"
MOST_OF_LIBRARY = 1.3
CASES = [(size, keyed) for size in (100, 1000) for keyed in (False, True)]
SMALL_CALL = 200
CODECS = [("gzip", 1), ("gzip", 6), ("snappy", None), ("lz4", 9), ("lz4", 12), ("zstd", 1), ("zstd", 3)]

Work = Callable[[], Any]


def rows_of(count: int, size: int, keyed: bool) -> tuple[Records, np.ndarray[Any, np.dtype[np.int32]]]:
    random = np.random.default_rng(size)
    value = pa.array([random.bytes(size) for _ in range(count)], pa.binary())
    key = pa.array([b"key-%07d" % row for row in range(count)], pa.binary()) if keyed else None
    slots = random.integers(0, SLOTS, count).astype(np.int32)
    return Records(value=value, key=key, sequence=np.arange(count)), slots


def ours(count: int, size: int, keyed: bool) -> Work:
    rows, slots = rows_of(count, size, keyed)

    def work() -> None:
        for batch in encoded(rows, slots):
            batch.seal(1, 0, 0)

    return work


def encoded(rows: Records, slots: np.ndarray[Any, np.dtype[np.int32]]) -> list[ReadyBatch]:
    limits = {"max_batch_bytes": BATCH_BYTES, "max_batch_count": len(rows)}
    return encode(rows, slots, SLOTS, now_ms=NOW_MS, codec=NONE, transactional=False, **limits)


def aiokafkas(count: int, size: int, keyed: bool) -> Work:
    rows, slots = rows_of(count, size, keyed)
    values = rows.value.to_pylist()
    keys = [None] * count if rows.key is None else rows.key.to_pylist()
    each = list(zip(slots.tolist(), keys, values, strict=True))

    def work() -> None:
        builders = [_builder() for _ in range(SLOTS)]
        full = []
        for slot, key, value in each:
            if builders[slot].append(timestamp=NOW_MS, key=key, value=value, headers=[]) is None:
                full.append(builders[slot])
                builders[slot] = _builder()
                builders[slot].append(timestamp=NOW_MS, key=key, value=value, headers=[])
        for builder in (*full, *builders):
            builder._build()

    return work


def _builder() -> BatchBuilder:
    return BatchBuilder(BATCH_BYTES, 0)


def timed(work: Work, count: int) -> Run:
    """ns of the processor's time for each of `count` things."""
    repeats = max(1, ROWS // count)

    def run() -> float:
        start = time.process_time_ns()
        for _ in range(repeats):
            work()
        return (time.process_time_ns() - start) / count / repeats

    return run


def encoding(rounds: int) -> Iterator[Comparison]:
    for count, cases in ((ROWS, CASES), (SMALL_CALL, CASES[:2])):
        for size, keyed in cases:
            runs = {"ours": timed(ours(count, size, keyed), count), "peer": timed(aiokafkas(count, size, keyed), count)}
            figures = interleave(runs, rounds)
            work = f"encode {count} rows of {size} B {'with' if keyed else 'without'} keys"
            goal = 1.0 if count == ROWS else None
            yield compare(work, figures["ours"], BUILDER, figures["peer"], unit="ns/record", goal=goal)


def library(name: str, level: int | None, data: bytes) -> tuple[str, Work]:
    """The codec's own library, as it is called where nothing else is wanted of it."""
    if name == "gzip":
        return f"zlib {zlib.ZLIB_RUNTIME_VERSION}", lambda: zlib.compress(data, level or 0, 31)
    if name == "snappy":
        return f"cramjam {cramjam.__version__}", lambda: cramjam.snappy.compress_raw(data)
    if name == "lz4":
        # Level 9 is Java's word for the fast compressor, whose level is 0 here.
        own = 0 if level == 9 else level
        form = {"block_size": lz4.frame.BLOCKSIZE_MAX64KB, "block_linked": False, "store_size": False}
        return f"python-lz4 {lz4.__version__}", lambda: lz4.frame.compress(data, compression_level=own, **form)
    compressor = zstandard.ZstdCompressor(level=level or 3)
    return f"zstandard {zstandard.__version__}", lambda: compressor.compress(data)


def batch_bytes() -> bytes:
    """The records of a batch, without its header."""
    random = np.random.default_rng(7)
    cities = ["Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Accra"]
    values = [
        b'{"id": %d, "city": "%s", "amount": %.2f, "paid": true}' % (row, cities[at].encode(), amount)
        for row, (at, amount) in enumerate(zip(random.integers(0, 6, ROWS), random.random(ROWS) * 1e4, strict=True))
    ]
    rows = Records(value=pa.array(values, pa.binary()), sequence=np.arange(ROWS))
    first = encoded(rows, np.zeros(ROWS, np.int32))[0]
    return bytes(first.seal(1, 0, 0)[61:])


def compression(rounds: int) -> Iterator[Comparison]:
    data = batch_bytes()
    view = memoryview(data)
    for name, level in CODECS:
        own = codec(name, level)
        peer, theirs = library(name, level, data)

        def compress(own: Any = own) -> None:
            own.compress(view)

        # Enough of the small ones that the clock can tell them apart.
        figures = interleave({"ours": _per_kb(compress, len(data)), "peer": _per_kb(theirs, len(data))}, rounds)
        work = f"compress {len(data) // 1000} kB by {name}" + ("" if level is None else f", level {level}")
        yield compare(work, figures["ours"], peer, figures["peer"], unit="ns/kB", goal=1 / MOST_OF_LIBRARY)


def _per_kb(work: Work, size: int) -> Run:
    def run() -> float:
        start = time.process_time_ns()
        for _ in range(5):
            work()
        return (time.process_time_ns() - start) / 5 / (size / 1000)

    return run


def main() -> int:
    options = arguments("time the encoder and the codecs beside aiokafka and the codecs' own libraries", rounds=15)
    comparisons = [*encoding(options.rounds), *compression(options.rounds)]
    report(comparisons, options.json)
    return 0 if all(each.goal is None or each.ratio >= each.goal for each in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
