"""The writer on a destination that does nothing, beside Flink's own: ns an entry, in turn, and each round's ratio.

``tox run -e bench [-- --json FILE --rounds N]``. Deadlines, limiter, accounting and metrics are on.
Exit status 0 whether or not a goal is met: a figure of a busy machine must not fail a build.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter

import anyio
import numpy
import pyarrow
from flink import running_flink
from sinks import BulkSink, NoOpSink, RoutedSink, TurnSink

from asyncsink import AsyncSinkWriter, ListBlock, Metrics
from asyncsink.arrow import ArrowBlock
from asyncsink.context import WriterInitContext
from asyncsink_testing.bench import Comparison, Run, arguments, compare, interleave, report

CHUNK = [bytes(100)] * 10_000
ELEMENTS = 1_000_000
BLOCK_ENTRIES = 4_000_000

Write = Callable[[AsyncSinkWriter[bytes, bytes]], Awaitable[None]]

GOALS = [
    ("write_block of an ArrowBlock", "Flink", 1.0),
    ("write_block of a ListBlock", "Flink", 1.0),
    ("write_block of an ArrowBlock", "Flink, elements taken as entries", None),
    ("the same, another turn a request", "Flink", None),
    ("write_many, Python hooks", "await write(x)", 3.0),
    ("write_many, bulk hooks", "await write(x)", 5.0),
    ("await write(x)", "await nothing(x)", 1 / 5),
    ("four routes in turn", "one route", 1 / 3),
]
"""What is timed, against what, and the ratio that is wanted, if one is: how many times faster it is to be."""


async def nothing(element: bytes) -> None:
    """The least that any API with a call an element can cost."""


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


def write_arrow_blocks(routes: int = 0) -> Write:
    """Arrow blocks with the default number of entries in a batch of Spark's, of so many routes in turn."""
    batch = pyarrow.record_batch([pyarrow.array(CHUNK, pyarrow.binary())], ["data"])
    of_each = ([*range(routes)], numpy.arange(len(CHUNK)) % routes) if routes else None

    async def write(writer: AsyncSinkWriter[bytes, bytes]) -> None:
        for _ in range(BLOCK_ENTRIES // len(CHUNK)):
            await writer.write_block(ArrowBlock.of_column(batch, "data", routes=of_each))

    return write


def timed(sink: NoOpSink, write: Write, entries: int) -> Run:
    """What opens a writer, writes, flushes, and returns ns an entry."""

    async def run() -> float:
        async with sink.create_writer(WriterInitContext(metric_group=Metrics().group)) as writer:
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


def compared(rounds: int) -> list[Comparison]:
    with (
        running_flink(BLOCK_ENTRIES, made=True) as (flink, run_flink),
        running_flink(BLOCK_ENTRIES, made=False) as (bare_flink, run_bare_flink),
    ):
        runs = {
            "Flink": run_flink,
            "Flink, elements taken as entries": run_bare_flink,
            "write_block of an ArrowBlock": timed(NoOpSink(), write_arrow_blocks(), BLOCK_ENTRIES),
            "the same, another turn a request": timed(TurnSink(), write_arrow_blocks(), BLOCK_ENTRIES),
            "write_block of a ListBlock": timed(NoOpSink(), write_list_blocks, BLOCK_ENTRIES),
            "write_many, Python hooks": timed(NoOpSink(), write_many, ELEMENTS),
            "write_many, bulk hooks": timed(BulkSink(), write_many, ELEMENTS),
            "await write(x)": timed(NoOpSink(), write_elements, ELEMENTS),
            "await nothing(x)": timed_floor,
            "four routes in turn": timed(RoutedSink(), write_arrow_blocks(routes=4), BLOCK_ENTRIES),
            "one route": timed(RoutedSink(), write_arrow_blocks(routes=1), BLOCK_ENTRIES),
        }
        figures = interleave(runs, rounds)
    names = {"Flink": flink, "Flink, elements taken as entries": bare_flink}
    return [
        compare(work, figures[work], names.get(peer, peer), figures[peer], unit="ns/entry", goal=goal)
        for work, peer, goal in GOALS
    ]


def main() -> None:
    options = arguments("time the writer beside Flink's on a destination that does nothing", rounds=15)
    report(compared(options.rounds), options.json)


if __name__ == "__main__":
    main()
