"""The writer: files in progress, rolling, states and counts."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncsink import (
    LedgerError,
)
from asyncsink_files import FilesSink
from asyncsink_files.committable import OpenFile, PendingFile
from asyncsink_files.writer import FilesWriter

from .reading import hidden, rows_in, shown
from .writing import ROWS, SINK_ID, context, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def test_nothing_is_shown_before_it_is_committed_and_names_tell_whose_it_is(folder: Path) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        await writer.write_many(ROWS)
        return await writer.prepare_commit(flush=True)

    (pending,) = written(FilesSink(path=str(folder)), prepare)
    assert shown(folder) == []
    assert pending.name.startswith(f"_asyncsink/{SINK_ID}/{SINK_ID}-7-3-2-")
    assert pending.final.startswith(f"part-{SINK_ID}-7-3-2-")
    assert pending.final.endswith(".json")
    data = (folder / pending.name).read_bytes()
    assert [json.loads(line) for line in data.splitlines()] == ROWS
    assert (pending.rows, pending.size_in_bytes) == (len(ROWS), len(data))


def test_two_attempts_never_share_a_name(folder: Path) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        await writer.write(ROWS[0])
        return await writer.prepare_commit(flush=True)

    sink = FilesSink(path=str(folder))
    names = {written(sink, prepare)[0].name for _ in range(3)}
    assert len(names) == len(hidden(folder)) == 3


def test_a_writer_without_rows_makes_no_file(folder: Path) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        await writer.flush()
        return await writer.prepare_commit(flush=True)

    assert written(FilesSink(path=str(folder)), prepare) == []
    assert not folder.exists()


@pytest.mark.parametrize("file_format", ["json", "parquet"])
def test_a_file_that_is_large_enough_is_followed_by_another(folder: Path, file_format: str) -> None:
    batches = [pa.record_batch({"id": [number], "text": ["x" * 1000]}) for number in range(6)]

    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        for batch in batches:
            await writer.write_batch(batch)
        return await writer.prepare_commit(flush=True)

    prepared = written(FilesSink(path=str(folder), file_format=file_format, max_file_size=2_000), prepare)
    assert 3 <= len(prepared) <= 6
    assert sum(each.rows for each in prepared) == 6
    assert all(each.size_in_bytes == (folder / each.name).stat().st_size for each in prepared)


def test_single_rows_roll_too(folder: Path) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        for row in ROWS:
            await writer.write(row)
        return await writer.prepare_commit(flush=True)

    assert len(written(FilesSink(path=str(folder), max_file_size=1), prepare)) == len(ROWS)


def test_what_is_not_flushed_stays_in_the_state_and_a_later_writer_goes_on_after_what_was_committed(
    folder: Path,
) -> None:
    async def leave_open(writer: FilesWriter) -> list[OpenFile]:
        await writer.write_many(ROWS[:2])
        assert await writer.prepare_commit(flush=False) == []
        assert writer.statistics().unacknowledged == 2
        states = writer.snapshot_state()
        await writer.write_many([{"id": 99}])
        await writer.flush()
        return states

    async def go_on(writer: FilesWriter) -> list[PendingFile]:
        assert writer.statistics().restored == 2
        await writer.write_many(ROWS[2:])
        return await writer.prepare_commit(flush=True)

    sink = FilesSink(path=str(folder))
    (state,) = written(sink, leave_open)
    assert state.rows == 2
    serializer = sink.writer_state_serializer
    assert serializer is not None
    (pending,) = written(sink, go_on, [serializer.deserialize(1, serializer.serialize(state))], generation=8)
    assert [json.loads(line) for line in (folder / pending.name).read_text().splitlines()] == ROWS
    assert pending.rows == len(ROWS)


def test_a_slow_predecessor_cannot_spoil_the_file_that_a_successor_goes_on_with(folder: Path) -> None:
    sink = FilesSink(path=str(folder))

    async def main() -> PendingFile:
        slow, quick = sink.create_writer(context()), None
        async with slow:
            await slow.write_many(ROWS[:2])
            await slow.prepare_commit(flush=False)
            quick = sink.create_writer(context(generation=8), slow.snapshot_state())
            async with quick:
                await quick.write(ROWS[2])
                await slow.write({"id": 99})
                await slow.flush()
                (pending,) = await quick.prepare_commit(flush=True)
        return pending

    pending = anyio.run(main)
    assert [json.loads(line) for line in (folder / pending.name).read_text().splitlines()] == ROWS[:3]


def test_of_several_states_all_are_taken_over(folder: Path) -> None:
    async def leave_open(writer: FilesWriter) -> list[OpenFile]:
        await writer.write(ROWS[0])
        await writer.prepare_commit(flush=False)
        return writer.snapshot_state()

    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        return await writer.prepare_commit(flush=True)

    sink = FilesSink(path=str(folder))
    states = [written(sink, leave_open)[0] for _ in range(3)]
    assert [each.rows for each in written(sink, prepare, states)] == [1, 1, 1]


@pytest.mark.parametrize("damage", ["gone", "short"])
def test_a_state_whose_file_is_not_what_it_was_is_refused(folder: Path, damage: str) -> None:
    async def leave_open(writer: FilesWriter) -> list[OpenFile]:
        await writer.write_many(ROWS)
        await writer.prepare_commit(flush=False)
        return writer.snapshot_state()

    async def nothing(writer: FilesWriter) -> None:
        """It does not come to this."""

    sink = FilesSink(path=str(folder))
    (state,) = written(sink, leave_open)
    path = folder / state.name
    path.unlink() if damage == "gone" else path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LedgerError, match=r"it is shorter or gone: 6 rows that are in no committed file are lost"):
        written(sink, nothing, [state])


def test_a_parquet_file_is_finished_by_every_commit(folder: Path) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        await writer.write_many(ROWS)
        prepared = await writer.prepare_commit(flush=False)
        assert writer.snapshot_state() == []
        return prepared

    (pending,) = written(FilesSink(path=str(folder), file_format="parquet"), prepare)
    assert pq.ParquetFile(folder / pending.name).read().to_pylist() == ROWS


def test_counts_add_up_at_every_step(folder: Path) -> None:
    async def count(writer: FilesWriter) -> list[tuple[int, int]]:
        told = []
        await writer.write_many(ROWS)
        told.append(writer.statistics())
        await writer.prepare_commit(flush=False)
        told.append(writer.statistics())
        await writer.write_batch(pa.RecordBatch.from_pylist(ROWS))
        await writer.prepare_commit(flush=True)
        told.append(writer.statistics())
        return [(each.accepted, each.acknowledged) for each in told]

    assert written(FilesSink(path=str(folder)), count) == [(6, 0), (6, 0), (12, 12)]


def test_a_flush_shows_files_where_nobody_commits(folder: Path) -> None:
    async def main() -> list[int]:
        seen = []
        async with FilesSink(path=str(folder)).open() as writer:
            for rows in (ROWS[:2], ROWS[2:]):
                await writer.write_many(rows)
                await writer.flush()
                seen.append(len(rows_in(folder)))
            await writer.write({"id": 99})
            assert await writer.prepare_commit(flush=True) == []
        return seen

    assert anyio.run(main) == [2, 6]
    assert len(rows_in(folder)) == 7
    assert not (folder / "_asyncsink").exists() or hidden(folder) == []


def test_one_that_is_left_by_an_error_shows_nothing_and_leaves_nothing(folder: Path) -> None:
    async def main() -> None:
        async with FilesSink(path=str(folder), max_file_size=1).open() as writer:
            await writer.write_many(ROWS)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        anyio.run(main)
    assert shown(folder) == []
    assert not (folder / "_asyncsink" / "at-least-once").exists()


def test_a_blocking_program_writes_too(folder: Path) -> None:
    with FilesSink(path=str(folder)).open_blocking() as writer:
        writer.write_many(ROWS)
    assert rows_in(folder) == ROWS
