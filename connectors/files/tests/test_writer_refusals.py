"""What a writer refuses, and what ends it: rows that cannot be written, and file systems that do not take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import (
    ConversionError,
    DeliveryError,
    ElementConverter,
    ListBlock,
    WriteContext,
    WriterClosedError,
    WriterFailedError,
)
from asyncsink_files import FilesSink
from asyncsink_files.committable import PendingFile
from asyncsink_files.local import LocalStorage
from asyncsink_files.storage import Storage
from asyncsink_files.writer import FilesWriter

from .writing import ROWS, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.mark.parametrize(
    ("element", "sentence"),
    [
        ({"id": 1, "text": object()}, r"could not convert element 2: TypeError: a value of type object has no form"),
        ("text", r"could not convert element 2: TypeError: an element of type str is no row; give a mapping"),
    ],
)
def test_a_row_that_cannot_be_written_is_not_accepted_and_the_writer_goes_on(
    folder: Path, element: Any, sentence: str
) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        with pytest.raises(ConversionError, match=f"FilesConverter {sentence}"):
            await writer.write_many([*ROWS[:2], element, ROWS[2]])
        await writer.write_many(ROWS[2:])
        return await writer.prepare_commit(flush=True)

    (pending,) = written(FilesSink(path=str(folder)), prepare)
    assert pending.rows == len(ROWS)


def test_an_arrow_batch_that_cannot_be_written_is_refused_as_a_whole(folder: Path) -> None:
    batch = pa.record_batch({"id": [1], "span": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})

    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        with pytest.raises(ConversionError, match=r"elements 0 to 0: TypeError: a column of type month_day_nano"):
            await writer.write_batch(batch)
        await writer.write_batch(pa.RecordBatch.from_pylist(ROWS))
        return await writer.prepare_commit(flush=True)

    assert written(FilesSink(path=str(folder)), prepare)[0].rows == len(ROWS)


def test_rows_that_have_no_columns_in_common_end_the_writer_of_parquet(folder: Path) -> None:
    async def mix(writer: FilesWriter) -> None:
        await writer.write_many([{"id": 1}, {"id": "one"}])
        with pytest.raises(ConversionError, match="could not convert 2 rows to columns: ArrowInvalid"):
            await writer.flush()
        with pytest.raises(WriterFailedError):
            await writer.write({"id": 2})

    written(FilesSink(path=str(folder), file_format="parquet"), mix)


class Doubling(ElementConverter[Any, Any]):
    """Makes another row of each."""

    def apply(self, element: Any, context: WriteContext) -> Any:
        return {"id": 2 * element["id"]}


@pytest.mark.parametrize("own", [Doubling, lambda row: {"id": 2 * row["id"]}], ids=["class", "function"])
def test_a_converter_of_ones_own_makes_the_rows(folder: Path, own: Any) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        await writer.write(ROWS[1])
        await writer.write_batch(pa.RecordBatch.from_pylist(ROWS[2:4]))
        await writer.write_block(ListBlock([{"id": 8}], [1]))
        return await writer.prepare_commit(flush=True)

    (pending,) = written(FilesSink(path=str(folder)).with_converter(own), prepare)
    ids = [json.loads(line)["id"] for line in (folder / pending.name).read_text().splitlines()]
    assert ids == [2, 4, 6, 8]


class Refusing(LocalStorage):
    """Raises where a file is begun."""

    error: OSError

    def begin(self, name: str, final: str) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (PermissionError(13, "Permission denied", "/x/y"), r"Permission denied \(/x/y\); let the user .* write and"),
        (OSError(28, "No space left on device"), r"No space left on device \(.*\); make room there"),
        (NotADirectoryError(20, "Not a directory", "/x"), r"Not a directory \(/x\); a file stands where a folder bel"),
        (OSError(5, "Input/output error"), r"Input/output error .*; see to the disk or the mount"),
    ],
)
def test_what_a_file_system_refuses_ends_the_writer_with_a_remedy(folder: Path, error: OSError, sentence: str) -> None:
    class RefusingSink(FilesSink):
        def storage(self) -> Storage:
            storage = Refusing(Path(self.options.path))
            storage.error = error
            return storage

    async def fail(writer: FilesWriter) -> None:
        await writer.write(ROWS[0])
        with pytest.raises(DeliveryError, match=rf"cannot write files in {folder}: {sentence}"):
            await writer.flush()
        with pytest.raises(WriterFailedError, match="has failed before"):
            await writer.flush()

    written(RefusingSink(path=str(folder)), fail)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("a file")

    async def fail(writer: FilesWriter) -> None:
        await writer.write(ROWS[0])
        await writer.flush()

    with pytest.raises(DeliveryError, match=r"a file stands where a folder belongs, or a folder where a file does"):
        written(FilesSink(path=str(tmp_path / "rows")), fail)


def test_a_writer_that_is_closed_or_not_entered_says_so(folder: Path) -> None:
    async def main() -> None:
        writer = FilesSink(path=str(folder)).open()
        with pytest.raises(WriterClosedError, match="has not been entered"):
            await writer.write(ROWS[0])
        async with writer:
            await writer.aclose()
            with pytest.raises(WriterClosedError, match="is closed"):
                await writer.write(ROWS[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        anyio.run(main)


def test_a_cancelled_write_leaves_the_counts_whole(folder: Path) -> None:
    async def cancel(writer: FilesWriter) -> int:
        with anyio.move_on_after(0) as scope:
            await writer.write_batch(pa.RecordBatch.from_pylist(ROWS))
        assert scope.cancelled_caught
        await writer.write_many(ROWS)
        prepared = await writer.prepare_commit(flush=True)
        assert writer.statistics().accepted == sum(each.rows for each in prepared)
        return len(prepared)

    assert written(FilesSink(path=str(folder)), cancel) == 1
