"""When a write waits, and what it has accepted when it stops waiting."""

from __future__ import annotations

from threading import Thread
from typing import Any

import anyio
import pytest

from asyncsink import ConversionError, ListBlock, OversizedEntryError, WouldBlock, WriteContext
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, IdentityConverter, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


@virtual
async def test_a_write_waits_while_the_buffer_is_full_by_count_and_no_longer() -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        for entry in entries(1, 7):
            await writer.write(entry)
        assert anyio.current_time() == 0.0, "three are in flight and four fit into the buffer"
        await writer.write(FakeEntry(8))
        assert anyio.current_time() == 2.0


@virtual
async def test_a_write_waits_while_the_bytes_held_in_flight_included_reach_the_bound() -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    config = small(max_batch_size_in_bytes=10, max_buffered_size_in_bytes=20, max_record_size_in_bytes=10)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([FakeEntry(1, 10), FakeEntry(2, 10)])
        assert anyio.current_time() == 0.0
        await writer.write(FakeEntry(3, 1))
        assert anyio.current_time() == 2.0


@virtual
async def test_a_write_does_not_wait_for_requests_in_flight_while_the_buffer_has_room() -> None:
    destination = FakeDestination([Step(latency_s=9.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 15))
        assert anyio.current_time() == 0.0
        assert len(destination.requests) <= 1


@virtual
async def test_converting_happens_after_the_wait() -> None:
    converted: list[float] = []

    class Converter(IdentityConverter):
        def apply(self, element: Any, context: WriteContext) -> Any:
            converted.append(anyio.current_time())
            return element

    class Sink(FakeSink):
        def converter(self, schema: Any) -> Converter:
            return Converter()

    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    async with Sink(destination).open(small(max_batch_size=1, max_buffered_requests=2)) as writer:
        for entry in entries(1, 4):
            await writer.write(entry)
    assert converted == [0.0, 0.0, 0.0, 2.0]


@virtual
async def test_a_block_larger_than_the_buffer_is_taken_in_slices_as_room_comes() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 99)
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        await writer.write_block(ListBlock(entries(1, 30), [1] * 30))
        assert anyio.current_time() > 5.0
        assert max(len(each.entries) for each in destination.requests) == 3
    assert stored(destination) == [*range(1, 31)]


@virtual
async def test_a_cancelled_write_block_has_accepted_a_prefix_that_is_delivered() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 99)
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        with anyio.move_on_after(2.5):
            await writer.write_block(ListBlock(entries(1, 30), [1] * 30))
        accepted = writer.statistics().accepted
        assert 7 <= accepted < 30
    assert stored(destination) == [*range(1, accepted + 1)]


@virtual
async def test_a_cancelled_write_block_has_published_what_it_accepted() -> None:
    seen: list[int] = []
    destination = FakeDestination([Step(latency_s=1.0)] * 99)
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        with anyio.move_on_after(2.5):
            await writer.write_block(ListBlock(entries(1, 30), [1] * 30))
        look = Thread(target=lambda: seen.append(writer.statistics().accepted))  # of any thread but the writer's own
        look.start()
        look.join()
        assert seen == [writer.statistics().accepted]


@virtual
async def test_a_cancelled_write_has_not_accepted_its_element() -> None:
    destination = FakeDestination([Step(latency_s=5.0)] * 9)
    async with FakeSink(destination).open(small(max_batch_size=1, max_buffered_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        with anyio.move_on_after(1.0) as waited:
            await writer.write(FakeEntry(4))
        assert waited.cancelled_caught
        assert writer.statistics().accepted == 3
    assert stored(destination) == [1, 2, 3]


@virtual
async def test_an_oversized_element_raises_with_both_numbers_and_the_writer_goes_on() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1, 100))
        with pytest.raises(OversizedEntryError, match=r"101.*max_record_size_in_bytes = 100"):
            await writer.write(FakeEntry(2, 101))
        await writer.write(FakeEntry(3))
        assert writer.statistics().accepted == 2
    assert stored(destination) == [1, 3]


@pytest.mark.parametrize("call", ["write_many", "write_block"])
@virtual
async def test_what_came_before_an_oversized_element_is_accepted(call: str) -> None:
    destination = FakeDestination()
    given = [FakeEntry(1), FakeEntry(2), FakeEntry(3, 101), FakeEntry(4)]
    async with FakeSink(destination).open(small()) as writer:
        with pytest.raises(OversizedEntryError, match=r"101.*= 100"):  # noqa: PT012
            if call == "write_many":
                await writer.write_many(given)
            else:
                await writer.write_block(ListBlock(given, [each.size for each in given]))
        assert writer.statistics().accepted == 2
    assert stored(destination) == [1, 2]


class Fussy(IdentityConverter):
    """Cannot convert what is named bad."""

    def apply(self, element: Any, context: WriteContext) -> Any:
        if element.name == "bad":
            raise ValueError("no such thing")
        return element


class FussySink(FakeSink):
    def converter(self, schema: Any) -> Fussy:
        return Fussy()


@virtual
async def test_a_converters_exception_concerns_its_element_alone() -> None:
    destination = FakeDestination()
    async with FussySink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1))
        with pytest.raises(ConversionError, match="element 1: ValueError: no such thing") as caught:
            await writer.write(FakeEntry("bad"))
        assert isinstance(caught.value.__cause__, ValueError)
        await writer.write(FakeEntry(2))
    assert stored(destination) == [1, 2]


@virtual
async def test_a_failing_run_is_repeated_one_by_one_to_find_the_element_at_fault() -> None:
    destination = FakeDestination()
    async with FussySink(destination).open(small()) as writer:
        with pytest.raises(ConversionError, match="element 2"):
            await writer.write_many([FakeEntry(1), FakeEntry(2), FakeEntry("bad"), FakeEntry(4)])
        assert writer.statistics().accepted == 2
    assert stored(destination) == [1, 2]


@virtual
async def test_write_nowait_raises_would_block_until_wait_available_returns() -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    async with FakeSink(destination).open(small(max_batch_size=1, max_buffered_requests=2)) as writer:
        for entry in entries(1, 3):
            writer.write_nowait(entry)
        with pytest.raises(WouldBlock):
            writer.write_nowait(FakeEntry(4))
        assert writer.statistics().accepted == 3
        await writer.wait_available()
        assert anyio.current_time() == 2.0
        writer.write_nowait(FakeEntry(4))
    assert stored(destination) == [1, 2, 3, 4]


@virtual
async def test_wait_available_waits_for_room_for_an_entry_of_any_legal_size() -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    config = small(
        max_batch_size=1, max_batch_size_in_bytes=10, max_buffered_size_in_bytes=15, max_record_size_in_bytes=10
    )
    async with FakeSink(destination).open(config) as writer:
        writer.write_nowait(FakeEntry(1, 8))
        writer.write_nowait(FakeEntry(2, 1))
        await writer.wait_available()
        assert anyio.current_time() == 2.0
        writer.write_nowait(FakeEntry(3, 10))


@virtual
async def test_several_producers_share_the_buffer_and_lose_nothing() -> None:
    destination = FakeDestination([Step(latency_s=0.1)] * 99)
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        async with anyio.create_task_group() as producers:
            for first in range(0, 50, 10):
                producers.start_soon(writer.write_many, entries(first, first + 9))
        await settled()
        assert writer.statistics().accepted == 50
    assert sorted(stored(destination)) == [*range(50)]
    assert all(len(each) <= 3 for each in batches(destination))
