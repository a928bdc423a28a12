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
