"""What every writer of a sink has from its base class."""

from __future__ import annotations

from typing import Any, Never

import anyio
import pytest

from asyncsink import EntryBlock, SinkWriter, WriteContext


class Noted(SinkWriter[int, Never, Any]):
    """Notes its calls; its flush may raise."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error, self.calls = error, list[str]()

    async def write(self, element: int, context: WriteContext | None = None) -> None:
        self.calls.append(f"write {element}")

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        self.calls.append("write_block")

    async def flush(self, end_of_input: bool = False) -> None:
        self.calls.append(f"flush {end_of_input}")
        if self.error is not None:
            raise self.error

    async def aclose(self) -> None:
        self.calls.append("aclose")


async def use(writer: Noted, error: BaseException | None = None) -> None:
    async with writer:
        await writer.write(1)
        if error is not None:
            raise error


def test_leaving_normally_flushes_and_closes() -> None:
    writer = Noted()
    anyio.run(use, writer)
    assert writer.calls == ["write 1", "flush True", "aclose"]


def test_leaving_closes_although_the_flush_raised() -> None:
    writer = Noted(OSError("nobody there"))
    with pytest.raises(OSError, match="nobody there"):
        anyio.run(use, writer)
    assert writer.calls == ["write 1", "flush True", "aclose"]


def test_leaving_with_an_exception_closes_without_a_flush() -> None:
    writer = Noted()
    with pytest.raises(ZeroDivisionError):
        anyio.run(use, writer, ZeroDivisionError())
    assert writer.calls == ["write 1", "aclose"]


@pytest.mark.anyio
async def test_elements_in_bulk_are_written_one_by_one_each_with_its_place() -> None:
    places: list[WriteContext | None] = []

    class Placed(Noted):
        async def write(self, element: int, context: WriteContext | None = None) -> None:
            await super().write(element, context)
            places.append(context)

    writer = Placed()
    await writer.write_many([7, 8], WriteContext(timestamp=5, sequence=3))
    await writer.write_many([9])
    assert writer.calls == ["write 7", "write 8", "write 9"]
    assert places == [WriteContext(5, None, 3), WriteContext(5, None, 4), None]


@pytest.mark.anyio
async def test_the_rows_of_a_batch_are_written_as_dictionaries() -> None:
    written: list[Any] = []

    class Rows(Noted):
        async def write(self, element: Any, context: WriteContext | None = None) -> None:
            written.append(element)

    class Batch:
        def to_pylist(self) -> list[dict[str, int]]:
            return [{"id": 1}, {"id": 2}]

    await Rows().write_batch(Batch())
    assert written == [{"id": 1}, {"id": 2}]


def test_a_writer_that_does_not_count_has_no_statistics() -> None:
    assert Noted().statistics() is None
