"""The writer on a destination that does nothing: ns an entry, beside ``await nothing(x)`` in the same round.

``python core/benchmarks/writer.py [--json FILE] [--rounds N]``
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter

import anyio
import numpy
import pyarrow

from asyncsink import (
    AsyncSink,
    AsyncSinkWriter,
    ConnectorOptions,
    ElementConverter,
    InitContext,
    ListBlock,
    RequestEntries,
    RequestResult,
    Schema,
    WriteContext,
)
from asyncsink.arrow import ArrowBlock
from asyncsink_testing.bench import Run, arguments, compare, interleave, report

CHUNK = [bytes(100)] * 10_000
ELEMENTS = 400_000
BLOCK_ENTRIES = 4_000_000


class AsTheyAre(ElementConverter[bytes, bytes]):
    def apply(self, element: bytes, context: WriteContext) -> bytes:
        return element


class AsTheyAreInBulk(AsTheyAre):
    def apply_many(self, elements: Sequence[bytes], context: WriteContext) -> list[bytes]:
        return list(elements)


@dataclass(frozen=True, kw_only=True)
class NoOptions(ConnectorOptions):
    """Nothing to choose."""


class NoOpSink(AsyncSink[bytes, bytes, None]):
    """Takes one turn of the event loop for a request, and stores it whole."""

    options_type = NoOptions

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[None]:
        yield None

    def converter(self, schema: Schema | None) -> ElementConverter[bytes, bytes]:
        return AsTheyAre()

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry)

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: None) -> RequestResult:
        await asyncio.sleep(0)
        return RequestResult.OK


class BulkSink(NoOpSink):
    def converter(self, schema: Schema | None) -> ElementConverter[bytes, bytes]:
        return AsTheyAreInBulk()

    def sizes(self, entries: Sequence[bytes]) -> Sequence[int]:
        return list(map(len, entries))


async def nothing(element: bytes) -> None:
    pass


async def await_nothing() -> None:
    for _ in range(ELEMENTS // len(CHUNK)):
        for element in CHUNK:
            await nothing(element)


async def write_elements(writer: AsyncSinkWriter[bytes, bytes]) -> None:
    for _ in range(ELEMENTS // len(CHUNK)):
        for element in CHUNK:
            await writer.write(element)


async def write_many(writer: AsyncSinkWriter[bytes, bytes]) -> None:
    for _ in range(ELEMENTS // len(CHUNK)):
        await writer.write_many(CHUNK)


async def write_list_blocks(writer: AsyncSinkWriter[bytes, bytes]) -> None:
    block = ListBlock(CHUNK, [len(entry) for entry in CHUNK])
    for _ in range(BLOCK_ENTRIES // len(CHUNK)):
        await writer.write_block(block)


async def write_arrow_blocks(writer: AsyncSinkWriter[bytes, bytes]) -> None:
    batch = pyarrow.record_batch([pyarrow.array(CHUNK, pyarrow.binary())], ["data"])
    block = ArrowBlock(batch, lambda rows, index: rows.column(0)[index].as_py(), numpy.full(len(CHUNK), 100))
    for _ in range(BLOCK_ENTRIES // len(CHUNK)):
        await writer.write_block(block)


def timed(sink: NoOpSink, write: Callable[[AsyncSinkWriter[bytes, bytes]], Awaitable[None]], entries: int) -> Run:
    async def run() -> float:
        async with sink.open() as writer:
            start = perf_counter()
            await write(writer)
            await writer.flush(end_of_input=True)
            took_s = perf_counter() - start
            assert writer.statistics().acknowledged == entries
        return took_s / entries * 1e9

    return lambda: anyio.run(run)


def timed_floor() -> float:
    start = perf_counter()
    anyio.run(await_nothing)
    return (perf_counter() - start) / ELEMENTS * 1e9


def main() -> None:
    options = arguments("time the writer on a destination that does nothing", rounds=7)
    runs = {
        "await nothing(x)": timed_floor,
        "await write(x)": timed(NoOpSink(), write_elements, ELEMENTS),
        "write_many, Python hooks": timed(NoOpSink(), write_many, ELEMENTS),
        "write_many, bulk hooks": timed(BulkSink(), write_many, ELEMENTS),
        "write_block of a ListBlock": timed(NoOpSink(), write_list_blocks, BLOCK_ENTRIES),
        "write_block of an ArrowBlock": timed(NoOpSink(), write_arrow_blocks, BLOCK_ENTRIES),
    }
    figures = interleave(runs, options.rounds)
    # An awaited call a record is the least that any element-wise API can cost; five of them are what ours may.
    goals = {"await write(x)": 0.2, "write_many, Python hooks": 0.5, "write_many, bulk hooks": 1.0}
    floor = figures.pop("await nothing(x)")
    report(
        [
            compare(name, values, "await nothing(x)", floor, unit="ns/entry", goal=goals.get(name, 3.0))
            for name, values in figures.items()
        ],
        options.json,
    )


if __name__ == "__main__":
    main()
