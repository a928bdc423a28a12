"""What tests of the writer share: a writer by itself, without a runner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from asyncsink import Transaction, WriterInitContext
from asyncsink_files import FilesSink
from asyncsink_files.committable import OpenFile
from asyncsink_files.writer import FilesWriter

SINK_ID = "0123456789abcdef"
ROWS = [{"id": number, "text": f"row {number}"} for number in range(6)]


def context(generation: int = 7, **other: Any) -> WriterInitContext:
    return WriterInitContext(writer_id=3, attempt=2, transaction=Transaction(SINK_ID, generation), **other)


def written(
    sink: FilesSink, work: Callable[[FilesWriter], Awaitable[Any]], states: Sequence[OpenFile] = (), **other: Any
) -> Any:
    """What `work` returns, done with a writer that is entered, and left without a flush."""

    async def main() -> Any:
        writer = sink.create_writer(context(**other), states)
        await writer.__aenter__()
        try:
            return await work(writer)
        finally:
            await writer.aclose()

    return anyio.run(main)
