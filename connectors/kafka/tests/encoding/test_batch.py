"""A batch is sealed with the producer's numbers, and gives its records back."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

from .reference import drawn, encoded, records, timed


@pytest.mark.parametrize("numbers", [(-1, -1, -1), (0, 0, 0), ((1 << 63) - 1, (1 << 15) - 1, (1 << 31) - 1)])
def test_a_batch_carries_the_numbers_that_it_was_sealed_with_last(numbers: tuple[int, int, int]) -> None:
    (batch,) = encoded(Records.of([KafkaRecord(value=b"a"), KafkaRecord(value=b"b")]))
    batch.seal(9, 8, 7)
    found = DefaultRecordBatch(bytes(batch.seal(*numbers)))
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == numbers
    assert found.validate_crc()
    assert (found.base_offset, found.last_offset_delta, found.magic) == (0, 1, 2)


def test_past_the_largest_number_the_sequence_begins_anew() -> None:
    (batch,) = encoded(Records.of([KafkaRecord(value=b"a")]))
    assert DefaultRecordBatch(bytes(batch.seal(1, 1, (1 << 31) + 5))).base_sequence == 5


@pytest.mark.parametrize("compression", ["none", "zstd"])
@drawn
@given(rows=st.lists(records, min_size=1, max_size=30))
def test_the_records_come_back_with_target_and_time(compression: str, rows: list[KafkaRecord]) -> None:
    (batch,) = encoded(Records.of(rows, 40), compression=compression)
    found = batch.records("topic", 3)
    assert [found.record(place) for place in range(len(found))] == [
        KafkaRecord(value=row.value, key=row.key, headers=row.headers, timestamp=timed(row), topic="topic", partition=3)
        for row in rows
    ]
    assert found.sequence.tolist() == batch.sequence.tolist() == list(range(40, 40 + len(rows)))
    assert batch.count == len(rows)


def test_records_that_came_back_make_the_same_batch_again() -> None:
    rows = [KafkaRecord(value=b"a" * size, headers=(("h", None),), timestamp=size) for size in range(50)]
    (batch,) = encoded(Records.of(rows), compression="gzip")
    (again,) = encoded(batch.records("topic", 0), compression="gzip")
    assert bytes(again.seal(1, 2, 3)) == bytes(batch.seal(1, 2, 3))
