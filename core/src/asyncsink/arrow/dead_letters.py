"""Dead letters as Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from asyncsink.dead_letters.encoding import NAMES
from asyncsink.dead_letters.letter import DeadLetter

SCHEMA: Final = pa.schema(
    [
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("entry", pa.binary()),
        pa.field("entry_version", pa.int32()),
        pa.field("element", pa.string()),
        pa.field("idempotency_id", pa.string()),
        pa.field("attempts", pa.int64(), nullable=False),
        pa.field("first_failed_at", pa.int64(), nullable=False),
        pa.field("last_failed_at", pa.int64(), nullable=False),
        pa.field("connector", pa.string(), nullable=False),
        pa.field("route", pa.string()),
        pa.field("query_id", pa.string()),
        pa.field("batch_id", pa.int64()),
        pa.field("writer_id", pa.int64(), nullable=False),
        pa.field("attempt", pa.int64(), nullable=False),
    ]
)


def to_parquet(letters: Sequence[DeadLetter]) -> bytes:
    """A whole Parquet file of `letters`."""
    columns = {name: [getattr(letter, name) for letter in letters] for name in NAMES}
    columns["reason"] = [letter.reason.value for letter in letters]
    file = BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), file)
    return file.getvalue()


def rows_of(file: BinaryIO) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, as mappings."""
    for batch in pq.ParquetFile(file).iter_batches(batch_size=100):
        yield from batch.to_pylist()
