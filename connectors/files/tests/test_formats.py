"""Formats: what other libraries read of what was written, by rows and by Arrow batches."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncsink_files import FilesOptions
from asyncsink_files.formats import Format, format_of
from asyncsink_files.formats.format import ROWS_AT_ONCE
from asyncsink_files.local import LocalStorage

BATCH = pa.record_batch(
    {
        "id": pa.array([1, 2, 3]),
        "text": pa.array(["a", 'quoted " and \n', None]),
        "at": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 6000, dt.UTC)] * 3, pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(10, 2)),
        "tags": pa.array([["x"], [], None], pa.list_(pa.string())),
        "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
    }
)


def made(**options: Any) -> Format:
    return format_of(FilesOptions(path="/x", **options))


def file_of(folder: Path, form: Format, *runs: list[Any]) -> Path:
    """A file with these runs of pieces, between which the encoder finishes."""
    file = LocalStorage(folder).begin("file", "")
    encoder = form.encoder(file)
    for run in runs:
        for piece in run:
            encoder.write(piece)
        encoder.finish()
    file.close()
    return folder / "file"


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "none"])
def test_parquet_holds_the_columns_as_they_are(tmp_path: Path, compression: str) -> None:
    form = made(file_format="parquet", compression=compression)
    read = pq.ParquetFile(file_of(tmp_path, form, form.of_batch(BATCH)))
    assert read.read().to_pylist() == BATCH.to_pylist()
    assert read.schema_arrow.field("kind").type == pa.string()
    used = read.metadata.row_group(0).column(0).compression
    assert used == {"none": "UNCOMPRESSED"}.get(compression, compression.upper())


def test_small_batches_become_one_row_group(tmp_path: Path) -> None:
    form = made(file_format="parquet")
    pieces = [piece for row in range(3) for piece in form.of_batch(BATCH.slice(row, 1))]
    assert pq.ParquetFile(file_of(tmp_path, form, pieces)).num_row_groups == 1


def test_rows_of_a_program_have_all_columns_that_are_found(tmp_path: Path) -> None:
    form = made(file_format="parquet")
    rows = [form.entry(row) for row in ({"id": 1}, {"id": 2, "text": "two"})]
    read = pq.ParquetFile(file_of(tmp_path, form, form.of_entries(rows))).read().to_pylist()
    assert read == [{"id": 1, "text": None}, {"id": 2, "text": "two"}]


def test_other_columns_do_not_fit_into_a_parquet_file_that_was_begun(tmp_path: Path) -> None:
    form = made(file_format="parquet")
    encoder = form.encoder(LocalStorage(tmp_path).begin("file", ""))
    (piece,), (other,) = form.of_entries([{"id": 1}]), form.of_entries([{"id": "one"}])
    assert encoder.fits(other)
    encoder.write(piece)
    assert encoder.fits(piece)
    assert not encoder.fits(other)


def test_a_row_without_columns_has_no_form_in_parquet() -> None:
    with pytest.raises(ValueError, match="the row has no columns"):
        made(file_format="parquet").entry({})


def test_json_of_a_batch_is_that_of_its_rows(tmp_path: Path) -> None:
    form = made()
    lines = file_of(tmp_path, form, form.of_batch(BATCH)).read_bytes().splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows[0] == {
        "id": 1, "text": "a", "at": "2026-01-02T03:04:05.006Z", "price": 1.5, "tags": ["x"], "kind": "a"
    }  # fmt: skip
    assert rows[1]["text"] == 'quoted " and \n'
    assert "text" not in rows[2]


@pytest.mark.parametrize("rows", [0, 1, 7, ROWS_AT_ONCE, ROWS_AT_ONCE + 1])
def test_a_slice_of_a_batch_has_its_own_lines_only(tmp_path: Path, rows: int) -> None:
    form = made()
    batch = pa.record_batch({"id": pa.array(range(ROWS_AT_ONCE + 20))}).slice(5, rows)
    pieces = form.of_batch(batch)
    assert sum(piece.rows for piece in pieces) == rows
    lines = file_of(tmp_path, form, pieces).read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [*range(5, 5 + rows)]


def test_every_run_of_a_gzipped_file_can_be_read_without_those_after_it(tmp_path: Path) -> None:
    form = made(compression="gzip")
    runs = [form.of_entries([form.entry({"id": number})]) for number in range(3)]
    path = file_of(tmp_path, form, *runs)
    assert gzip.decompress(path.read_bytes()) == b'{"id":0}\n{"id":1}\n{"id":2}\n'
    first = file_of(tmp_path / "first", form, runs[0]).read_bytes()
    assert gzip.decompress(path.read_bytes()[: len(first)]) == b'{"id":0}\n'
