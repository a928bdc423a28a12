"""The position of an element among those of its writer: every one has its own, whatever waits or is cut short."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import ConversionError, ListBlock, WouldBlock, WriteContext
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, IdentityConverter, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small


class Sequences(IdentityConverter):
    """Keeps the sequence of each element."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, int]] = []

    def apply(self, element: Any, context: WriteContext) -> Any:
        self.seen.append((element.name, context.sequence))
        return super().apply(element, context)


class Sequenced(FakeSink):
    """Converts with its one converter."""

    made: Sequences

    def converter(self, schema: Any) -> Sequences:
        return self.made


@pytest.mark.parametrize("full", ["by count", "by bytes"])
@virtual
async def test_would_block_uses_up_no_sequence(full: str) -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    sink = Sequenced(destination)
    sink.made = Sequences()
    config = small(
        max_batch_size=1,
        max_batch_size_in_bytes=10,
        max_record_size_in_bytes=10,
        max_buffered_size_in_bytes=21 if full == "by bytes" else 1000,
        max_buffered_requests=2,
    )
    async with sink.open(config) as writer:
        given = entries(1, 2 if full == "by bytes" else 3, size=10)
        for entry in given:
            writer.write_nowait(entry)
        for _ in range(3):
            with pytest.raises(WouldBlock):
                writer.write_nowait(FakeEntry("next", 10))
        await writer.wait_available()
        writer.write_nowait(FakeEntry("next", 10))
        await writer.write(FakeEntry("last", 10))
    count = len(given)
    expected: dict[Any, int] = {entry.name: at for at, entry in enumerate(given)}
    assert dict(sink.made.seen) == expected | {"next": count, "last": count + 1}


@virtual
async def test_producers_that_wait_have_numbers_of_their_own() -> None:
    sink = Sequenced(FakeDestination([Step(latency_s=2.0)] * 30))
    sink.made = Sequences()
    config = small(
        max_batch_size=2,
        max_batch_size_in_bytes=20,
        max_record_size_in_bytes=20,
        max_buffered_requests=3,
        max_buffered_size_in_bytes=30,
    )
    names: list[Any] = []
    async with sink.open(config) as writer, anyio.create_task_group() as producers:

        async def produce(name: str, count: int, size: int) -> None:
            for at in range(count):
                names.append((name, at))
                await writer.write(FakeEntry((name, at), size))

        for producer, size in enumerate((1, 10, 10, 7, 3)):
            producers.start_soon(produce, f"producer {producer}", 4, size)
        await settled()
        waiting = len(names)
        await writer.write_many(entries(1, 5, size=5))
    numbers = [number for _, number in sink.made.seen]
    assert waiting >= 5, "each producer has an element that waits"
    assert sorted(numbers) == list(range(25))


@virtual
async def test_what_is_refused_cancelled_or_brings_its_own_number_is_counted_once() -> None:
    sink = Sequenced(FakeDestination([Step(latency_s=2.0)] * 30))
    sink.made = Sequences()
    async with sink.open(small(max_batch_size=2, max_buffered_requests=3, max_record_size_in_bytes=20)) as writer:
        await writer.write(FakeEntry("first"))
        with pytest.raises(ConversionError, match="element 1:"):
            await writer.write(FakeEntry("broken", flaw="broken"))
        await writer.write(FakeEntry("own"), WriteContext(sequence=70))
        await writer.write_block(ListBlock([FakeEntry("block")], [1]))
        with anyio.move_on_after(0.5):
            for name in ("waits", "waits as well", "is cancelled"):
                await writer.write(FakeEntry(name, 9))
        await writer.write(FakeEntry("last"))
    numbers = dict(sink.made.seen)
    assert (numbers["first"], numbers["broken"], numbers["own"]) == (0, 1, 70)
    assert numbers["waits"] == 4, "after the two that were refused or numbered by the caller, and the block"
    later = [number for name, number in sink.made.seen[3:]]
    assert later == sorted(set(later)), "each number once"
