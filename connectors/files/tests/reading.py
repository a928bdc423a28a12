"""Reads what stands in a folder, by other libraries than the one that wrote it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from asyncsink_files import read_manifest

Row = dict[str, Any]


def rows_in(folder: Path) -> list[Row]:
    """The rows of all files that a reader of the folder sees, by number."""
    return by_number(row for path in shown(folder) for row in rows_of(path))


def rows_listed(folder: Path) -> list[Row]:
    """The rows of all files that the manifest lists, by number."""
    listed = read_manifest(folder)
    for file in listed:
        assert file.size_in_bytes == Path(file.path).stat().st_size
        assert file.rows == len(rows_of(Path(file.path)))
    return by_number(row for file in listed for row in rows_of(Path(file.path)))


def by_number(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row["id"]))


def shown(folder: Path) -> list[Path]:
    """What Spark would read: no name that begins with an underscore or a dot."""
    return sorted(path for path in folder.iterdir() if path.name[0] not in "_.")


def hidden(folder: Path) -> list[Path]:
    """What lies in the folder of uncommitted files."""
    return sorted(path for path in (folder / "_asyncsink").rglob("*") if path.is_file())


def rows_of(path: Path) -> list[Row]:
    if path.suffix == ".parquet":
        # Not by read_table, which takes the names of folders for columns.
        rows: list[Row] = pq.ParquetFile(path).read().to_pylist()
        return rows
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]
