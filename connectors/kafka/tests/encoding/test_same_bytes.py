"""The same bytes as aiokafka's own builder, whatever the columns look like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asyncsink_kafka.encoding import encode, sizes_beyond, sizes_of
from asyncsink_kafka.encoding.codecs import codec
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

from .reference import NOW_MS, aiokafka_batches, drawn, encoded, measured_records, plain_records, records, sealed, timed

MIXED = [
    KafkaRecord(value=b"v", key=b"k", headers=(("a", b"1"), ("b", None)), timestamp=7),
    KafkaRecord(value=None, key=b"", headers=(("ä", b""),), timestamp=None),
    KafkaRecord(value=b"w" * 9000, key=None, timestamp=1 << 41),
    KafkaRecord(value=b"", key=b"k" * 300, headers=(("", b"x" * 70),), timestamp=3),
]


@drawn
@given(st.lists(records, min_size=1, max_size=40))
def test_one_batch_is_what_aiokafka_builds(rows: list[KafkaRecord]) -> None:
    assert sealed(encoded(Records.of(rows))) == aiokafka_batches(rows)


@drawn
@given(st.lists(plain_records, min_size=1, max_size=40))
def test_records_without_headers_and_timestamps_are_what_aiokafka_builds(rows: list[KafkaRecord]) -> None:
    assert sealed(encoded(Records.of(rows))) == aiokafka_batches(rows)


@drawn
@given(st.lists(measured_records, min_size=1, max_size=40), st.integers(62, 4000))
@example([KafkaRecord()] * 11, 61 + 10 * 7)  # ten fill it to the last byte
def test_batches_are_cut_where_aiokafka_cuts_them(rows: list[KafkaRecord], max_bytes: int) -> None:
    assert sealed(encoded(Records.of(rows), max_bytes=max_bytes)) == aiokafka_batches(rows, max_bytes=max_bytes)


@drawn
@given(st.lists(st.tuples(st.integers(-1, 3), measured_records), max_size=60), st.integers(300, 3000))
def test_each_slot_is_what_aiokafka_builds_of_its_rows(rows: list[tuple[int, KafkaRecord]], max_bytes: int) -> None:
    slots = [slot for slot, _ in rows]
    found = encoded(Records.of([record for _, record in rows]), slots, 6, max_bytes=max_bytes)
    for slot in range(6):
        own = [record for at, record in rows if at == slot]
        batches = [batch for batch in found if batch.slot == slot]
        assert sealed(batches) == aiokafka_batches(own, max_bytes=max_bytes)
        assert [n for batch in batches for n in batch.sequence.tolist()] == [
            number for number, at in enumerate(slots) if at == slot
        ]


@drawn
@given(st.lists(records, min_size=1, max_size=20))
def test_the_size_of_a_record_is_that_of_the_batch_of_it_alone(rows: list[KafkaRecord]) -> None:
    alone = [aiokafka_batches([record]) for record in rows]
    assert sizes_of(Records.of(rows)).tolist() == [len(batch) for (batch,) in alone]


@drawn
@given(st.lists(records, max_size=20), st.integers(60, 400))
def test_sizes_are_left_out_only_where_none_is_beyond_the_limit(rows: list[KafkaRecord], limit: int) -> None:
    columns = Records.of(rows)
    sizes, found = sizes_of(columns), sizes_beyond(columns, limit)
    assert (sizes <= limit).all() if found is None else found.tolist() == sizes.tolist()


def test_sizes_of_short_records_are_left_out() -> None:
    columns = Records.of([KafkaRecord(value=b"v" * 40, key=b"k" * 60), KafkaRecord()])
    assert sizes_beyond(columns, 200) is None
    assert sizes_beyond(columns, 199) is not None
    assert sizes_beyond(Records.of([KafkaRecord(headers=(("name", b"x" * 200),))]), 200) is not None


def test_offset_deltas_of_each_width_are_what_aiokafka_writes() -> None:
    rows = [KafkaRecord(value=b"%d" % number) for number in range(9000)]
    assert sealed(encoded(Records.of(rows))) == aiokafka_batches(rows)


def test_a_transactional_batch_says_so() -> None:
    assert sealed(encoded(Records.of(MIXED), transactional=True)) == aiokafka_batches(MIXED, transactional=True)


def test_large_columns_make_the_same_bytes() -> None:
    rows = Records.of(MIXED)
    assert rows.headers is not None
    large_header = pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])
    large = replace(
        rows,
        value=rows.value.cast(pa.large_binary()),
        key=pa.array([record.key for record in MIXED], pa.large_binary()),
        headers=pa.array(rows.headers.to_pylist(), pa.large_list(large_header)),
    )
    assert sealed(encoded(large)) == aiokafka_batches(MIXED)


@pytest.mark.parametrize(("start", "stop"), [(1, 4), (0, 2), (2, 3), (3, 4)])
def test_slices_make_the_bytes_of_their_own_rows(start: int, stop: int) -> None:
    assert sealed(encoded(Records.of(MIXED).slice(start, stop))) == aiokafka_batches(MIXED[start:stop])


def test_what_lies_below_a_null_is_not_written() -> None:
    mask = pa.py_buffer(b"\x02")  # of two values the second is there
    hidden = pa.Array.from_buffers(
        pa.binary(), 2, [mask, pa.py_buffer(np.array([0, 6, 7], np.int32)), pa.py_buffer(b"hiddenv")]
    )
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 1], pa.int32()),
        pa.array([{"key": "h", "value": b""}], pa.struct([("key", pa.string()), ("value", pa.binary())])),
        mask=pa.array([True, False]),
    )
    rows = Records(value=hidden, key=hidden, headers=lists, sequence=np.arange(2))
    expected = [KafkaRecord(), KafkaRecord(value=b"v", key=b"v")]
    assert sealed(encoded(rows)) == aiokafka_batches(expected)
    assert sizes_of(rows).tolist() == [len(aiokafka_batches([record])[0]) for record in expected]


@pytest.mark.parametrize("column", [pa.nulls(3, pa.binary()), pa.array([b"", b"", b""])])
def test_columns_without_a_byte_are_written(column: pa.Array) -> None:
    rows = Records(value=column, key=column, sequence=np.arange(3))
    expected = [KafkaRecord(value=each, key=each) for each in column.to_pylist()]
    assert sealed(encoded(rows)) == aiokafka_batches(expected)


def test_no_rows_make_no_batches() -> None:
    assert encoded(Records.of([]), [], 3) == []
    assert encoded(Records.of(MIXED), [-1] * 4, 3) == []
    assert sizes_of(Records.of([])).tolist() == []


def test_a_row_that_is_left_out_may_have_what_no_record_can() -> None:
    lists = pa.array([[{"key": None, "value": b""}], None], Records.of(MIXED).headers.type)  # type: ignore[union-attr]
    rows = Records(value=pa.array([b"a", b"b"]), headers=lists, sequence=np.arange(2))
    assert sealed(encoded(rows, [-1, 0])) == aiokafka_batches([KafkaRecord(value=b"b")])
    with pytest.raises(ValueError, match="1 headers of records have no key"):
        encoded(rows, [0, 0])


@drawn
@given(st.permutations(range(150)))
def test_a_timestamp_before_the_first_one_is_kept(times: list[int]) -> None:
    rows = [KafkaRecord(value=b"", timestamp=time) for time in times]
    (batch,) = encoded(Records.of(rows))
    assert sealed([batch]) == aiokafka_batches(rows)
    assert [record.timestamp for record in map(batch.records().record, range(150))] == [timed(row) for row in rows]


def test_rows_beyond_the_reach_of_32_bits_are_found() -> None:
    # Pages of zeros that nobody has written to take no memory.
    blank, size = np.zeros((1 << 31) + 100, np.uint8), 1 << 20
    offsets = np.append(np.arange(0, len(blank), size), len(blank))
    value = pa.Array.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(blank)]
    )
    rows = Records(
        value=value, key=pa.array([b"%d" % row for row in range(len(value))]), sequence=np.arange(len(value))
    )
    slots = np.full(len(value), -1, np.int32)
    slots[-2:] = 0
    found = encode(rows, slots, 1, now_ms=NOW_MS, max_batch_bytes=1 << 22, max_batch_count=9, codec=codec("none"))
    expected = [KafkaRecord(key=b"2047", value=bytes(size)), KafkaRecord(key=b"2048", value=bytes(100))]
    assert sealed(found) == aiokafka_batches(expected)
