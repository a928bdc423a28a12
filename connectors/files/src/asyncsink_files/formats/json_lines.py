"""JSON Lines: an object a line, as Spark's ``to_json`` writes it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from asyncsink.json_text import encode_row
from asyncsink_files.formats.format import ROWS_AT_ONCE, Piece
from asyncsink_files.storage import PartFile

_GZIP: Final = 16 + zlib.MAX_WBITS
_LEVEL: Final = 6


class JsonLines:
    """The format. A gzipped file consists of one member or more, which readers take for one text (RFC 1952, 2.2)."""

    is_resumable = True

    def __init__(self, compression: str) -> None:
        self._is_gzipped = compression == "gzip"
        self.extension = ".json.gz" if self._is_gzipped else ".json"

    def entry(self, row: Mapping[str, Any]) -> bytes:
        return encode_row(row) + b"\n"

    def size_of(self, entry: bytes) -> int:
        return len(entry)

    def of_entries(self, entries: Sequence[bytes]) -> list[Piece]:
        return [Piece(len(entries), b"".join(entries))] if entries else []

    def of_batch(self, batch: Any) -> list[Piece]:
        starts = range(0, batch.num_rows, ROWS_AT_ONCE)
        return [_piece(batch.slice(start, ROWS_AT_ONCE)) for start in starts]

    def encoder(self, file: PartFile) -> JsonLinesEncoder:
        return JsonLinesEncoder(file, self._is_gzipped)


class JsonLinesEncoder:
    """Writes lines as they come."""

    def __init__(self, file: PartFile, is_gzipped: bool) -> None:
        self._file, self._is_gzipped = file, is_gzipped
        self._packer: Any = None

    def fits(self, piece: Piece) -> bool:
        return True

    def write(self, piece: Piece) -> None:
        if not self._is_gzipped:
            self._file.write(piece.data)
            return
        if self._packer is None:
            self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
        self._file.write(self._packer.compress(piece.data))

    def finish(self) -> None:
        if self._packer is not None:
            self._file.write(self._packer.flush())
            self._packer = None


def _piece(batch: Any) -> Piece:
    import pyarrow as pa
    import pyarrow.compute as pc

    from asyncsink.arrow.json_rows import json_column

    end, nothing = (pa.scalar(text, pa.large_binary()) for text in (b"\n", b""))
    lines = pc.binary_join_element_wise(json_column(batch), end, nothing)
    # The join has made the column: its values lie one by one at the beginning of the buffer.
    size = pc.sum(pc.binary_length(lines)).as_py()
    return Piece(batch.num_rows, memoryview(lines.buffers()[2])[:size])
