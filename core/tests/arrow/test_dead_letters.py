"""Dead letters as Parquet."""

from __future__ import annotations

import json
from dataclasses import fields
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.arrow.dead_letters import SCHEMA, rows_of, to_parquet
from asyncsink.dead_letters import DeadLetter, DeadLetterReason, read_dead_letters
from asyncsink.dead_letters.element import element_as_json
from asyncsink.dead_letters.encoding import from_values
from asyncsink.errors import DeadLetterError

text = st.text(st.characters(), max_size=20)
letters = st.builds(
    DeadLetter,
    schema_version=st.just(1),
    reason=st.sampled_from(DeadLetterReason),
    code=text,
    message=text,
    entry=st.none() | st.binary(max_size=50),
    entry_version=st.none() | st.integers(0, 2**31 - 1),
    element=st.none() | text,
    idempotency_id=st.none() | text,
    attempts=st.integers(0, 2**31),
    first_failed_at=st.integers(0, 2**62),
    last_failed_at=st.integers(0, 2**62),
    connector=text,
    route=st.none() | text,
    query_id=st.none() | text,
    batch_id=st.none() | st.integers(0, 2**62),
    writer_id=st.integers(0, 2**31),
    attempt=st.integers(0, 2**31),
)


def one() -> DeadLetter:
    return DeadLetter(
        reason=DeadLetterReason.REJECTED, code="400", message="", first_failed_at=1, last_failed_at=2, connector="a.B"
    )


def test_the_columns_are_the_fields_of_a_letter_in_order() -> None:
    assert SCHEMA.names == [each.name for each in fields(DeadLetter)]


@given(st.lists(letters, max_size=5))
def test_letters_come_back_as_they_were(stored: list[DeadLetter]) -> None:
    assert [from_values(row, "here") for row in rows_of(BytesIO(to_parquet(stored)))] == stored


def test_a_column_that_a_later_release_adds_is_left_out(tmp_path: Path) -> None:
    table = pq.read_table(BytesIO(to_parquet([one()]))).append_column("mood", pa.array(["sad"]))
    pq.write_table(table, tmp_path / "a.parquet")
    assert [*read_dead_letters(tmp_path)] == [one()]


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    table = pq.read_table(BytesIO(to_parquet([one()])))
    table = table.set_column(0, "schema_version", pa.array([2], pa.int32()))
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DeadLetterError, match=r"a\.parquet, row 1 has schema_version 2, .* upgrade asyncsink-core"):
        [*read_dead_letters(tmp_path)]


def test_a_missing_column_is_damage(tmp_path: Path) -> None:
    pq.write_table(pq.read_table(BytesIO(to_parquet([one()]))).drop_columns(["code"]), tmp_path / "a.parquet")
    with pytest.raises(DeadLetterError, match=r"a\.parquet, row 1 is damaged: code is of type NoneType"):
        [*read_dead_letters(tmp_path)]


@pytest.mark.parametrize("data", [b"", b"PAR1 and no more"])
def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(DeadLetterError, match=r"a\.parquet is no complete Parquet file of dead letters; remove it"):
        [*read_dead_letters(tmp_path)]


def test_a_row_that_is_a_batch_of_its_own_is_kept_by_column_whatever_its_values_hold() -> None:
    batch = pa.record_batch(
        [
            pa.array([7]),
            pa.array([b"\x00"], pa.binary()),
            _broken_text(),
            pa.array([-10_000_000], pa.date32()),
            pa.array([None]),
        ],
        ["number", "bytes", "text", "day", "nothing"],
    )
    kept = json.loads(element_as_json(batch))
    assert (kept["number"], kept["bytes"], kept["nothing"]) == (7, {"$base64": "AA=="}, None)
    assert kept["text"] == {"$base64": "/w=="}
    assert "$repr" in kept["day"]


def _broken_text() -> pa.Array:
    """A string column whose value is no UTF-8, as Spark may hand it over."""
    valid = pa.array([b"\xff"], pa.binary())
    return pa.Array.from_buffers(pa.string(), 1, valid.buffers())
