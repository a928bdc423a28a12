"""Apache Parquet, a row group at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from asyncsink.arrow.normalise import normalise
from asyncsink.config import MiB
from asyncsink_files.formats.format import ROWS_AT_ONCE, Piece
from asyncsink_files.storage import PartFile

_ROW_GROUP: Final = 32 * MiB
"""Bytes of a row group in memory: it is held until it is written, and readers take it as a whole."""
_BYTES_A_ROW: Final = 256
"""A guess, of which only depends how many rows of a program are gathered."""
_EXTENSIONS: Final = {"none": "", "gzip": ".gz"}


class Parquet:
    """The format. The end of a file says what is in it, so that nobody can go on with one."""

    is_resumable = False

    def __init__(self, compression: str, max_file_size: int) -> None:
        self._compression, self._row_group = compression, min(_ROW_GROUP, max_file_size)
        self.extension = f"{_EXTENSIONS.get(compression, f'.{compression}')}.parquet"

    def entry(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if not row:
            raise ValueError("the row has no columns, and Parquet cannot hold it")
        return dict(row)

    def size_of(self, entry: Mapping[str, Any]) -> int:
        return _BYTES_A_ROW

    def of_entries(self, entries: Sequence[Mapping[str, Any]]) -> list[Piece]:
        if not entries:
            return []
        names = dict.fromkeys(name for entry in entries for name in entry)
        columns = {name: pa.array([entry.get(name) for entry in entries]) for name in names}
        return self.of_batch(pa.RecordBatch.from_pydict(columns))

    def of_batch(self, batch: Any) -> list[Piece]:
        plain = normalise(batch)
        starts = range(0, plain.num_rows, ROWS_AT_ONCE)
        slices = [plain.slice(start, ROWS_AT_ONCE) for start in starts]
        return [Piece(each.num_rows, each) for each in slices]

    def encoder(self, file: PartFile) -> ParquetEncoder:
        return ParquetEncoder(file, self._compression, self._row_group)


class ParquetEncoder:
    """Gathers rows for a row group."""

    def __init__(self, file: PartFile, compression: str, row_group: int) -> None:
        self._file, self._compression, self._row_group = file, compression, row_group
        self._writer: Any = None
        self._held: list[Any] = []
        self._held_bytes = 0
        self._schema: Any = None

    def fits(self, piece: Piece) -> bool:
        return self._schema is None or bool(self._schema.equals(piece.data.schema))

    def write(self, piece: Piece) -> None:
        self._schema = piece.data.schema
        self._held.append(piece.data)
        self._held_bytes += piece.data.nbytes
        if self._held_bytes >= self._row_group:
            self._write_held()

    def finish(self) -> None:
        self._write_held()
        self._writer.close()

    def _write_held(self) -> None:
        if not self._held:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(_Appending(self._file), self._schema, compression=self._compression)
        table = pa.Table.from_batches(self._held)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._held, self._held_bytes = [], 0


class _Appending:
    """A part file as Arrow takes one; it stays open, since it has yet to be made durable."""

    closed = False

    def __init__(self, file: PartFile) -> None:
        self.write = file.write

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True
