"""Records to draw, and the same batch by aiokafka."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from asyncsink_kafka.encoding import ReadyBatch, codec, encode
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

drawn = settings(deadline=None, max_examples=50)  # a busy machine breaks the usual deadline

NOW_MS = 1_700_000_000_000
ROOM = 1 << 30

_contents = st.binary(max_size=80)
# The lengths at which the varint of a length, or of the record that holds it, becomes a byte longer.
_long = st.sampled_from([63, 64, 8191, 8192, 8250]).map(lambda length: b"x" * length)
_optional = st.none() | _contents | _long
_headers = st.lists(st.tuples(st.text(max_size=6), st.none() | st.binary(max_size=70)), max_size=3).map(tuple)
_times = st.none() | st.integers(0, 1 << 41) | st.integers(NOW_MS - 100, NOW_MS + 100)

records = st.builds(KafkaRecord, value=_optional, key=_optional, headers=_headers, timestamp=_times)
_ascii_headers = st.lists(
    st.tuples(st.text(st.characters(codec="ascii"), max_size=6), st.none() | st.binary(max_size=70))
)
# Where a batch is full aiokafka's compiled builder counts a header's name by its characters, and not by its bytes.
measured_records = st.builds(
    KafkaRecord,
    value=_optional,
    key=_optional,
    headers=_ascii_headers.map(lambda found: tuple(found[:3])),
    timestamp=_times,
)
plain_records = st.builds(KafkaRecord, value=_optional, key=_optional)


def encoded(
    rows: Records,
    slots: Sequence[int] | NDArray[np.int32] | None = None,
    slot_count: int = 1,
    *,
    max_bytes: int = ROOM,
    max_count: int = ROOM,
    compression: str = "none",
    level: int | None = None,
    transactional: bool = False,
) -> list[ReadyBatch]:
    return encode(
        rows,
        np.zeros(len(rows), np.int32) if slots is None else np.asarray(slots, np.int32),
        slot_count,
        now_ms=NOW_MS,
        max_batch_bytes=max_bytes,
        max_batch_count=max_count,
        codec=codec(compression, level),
        transactional=transactional,
    )


def aiokafka_batches(
    records: Sequence[KafkaRecord], *, max_bytes: int = ROOM, transactional: bool = False
) -> list[bytes]:
    """The batches of aiokafka's own builder, another one where one is full."""
    builders = [_builder(max_bytes, transactional)]
    for record in records:
        if not _append(builders[-1], record):
            builders.append(_builder(max_bytes, transactional))
            assert _append(builders[-1], record)
    return [bytes(builder._build()) for builder in builders if builder.record_count()]


def read(batch: ReadyBatch) -> list[KafkaRecord]:
    """What aiokafka's consumer reads of it."""
    log = MemoryRecords(bytes(batch.seal(-1, -1, -1)))
    found = log.next_batch()
    assert found is not None
    assert found.validate_crc()
    result = [
        KafkaRecord(value=each.value, key=each.key, headers=tuple(each.headers), timestamp=each.timestamp)
        for each in found
    ]
    assert not log.has_next()
    return result


def sealed(batches: Sequence[ReadyBatch]) -> list[bytes]:
    """Their bytes, with the numbers that aiokafka's builder begins with."""
    return [bytes(batch.seal(-1, -1, 0)) for batch in batches]


def timed(record: KafkaRecord) -> int:
    return NOW_MS if record.timestamp is None else record.timestamp


def _builder(max_bytes: int, transactional: bool) -> BatchBuilder:
    # Its compiled builder takes no batch that is exactly full.
    return BatchBuilder(max_bytes + 1, 0, is_transactional=int(transactional))


def _append(builder: BatchBuilder, record: KafkaRecord) -> bool:
    headers = [*record.headers]
    added = builder.append(timestamp=timed(record), key=record.key, value=record.value, headers=headers)
    return added is not None
