"""``on_rejected="drop"``: counted, and said once for each code."""

from __future__ import annotations

import logging

import pytest

from asyncsink import ErrorTable, Failure, FailureKind, RequestEntries, RequestResult
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink
from asyncsink_testing.virtual_time import virtual

from .harness import entries, stored
from .rejected import broken, dropping, hold_that_it_adds_up, large, poison, poisoned


def dropped(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [
        each.getMessage() for each in caplog.records if "dropped an entry" in each.message and each.levelno == level
    ]


def test_each_code_is_warned_of_once_and_then_only_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def run() -> None:
        async with FakeSink(poisoned()).open(dropping()) as writer:
            for _ in range(3):
                await writer.write(broken(1))
                await writer.write_many([poison(2), FakeEntry(3), large(4)])
            await writer.flush(end_of_input=True)
            hold_that_it_adds_up(writer)
            assert writer.statistics().dropped == 9

    with caplog.at_level(logging.DEBUG, "asyncsink"):
        run()
    warned = sorted(each.split(": ")[1] for each in dropped(caplog, logging.WARNING))
    assert warned == ["ConversionError", "Malformed", "OversizedEntryError"]
    assert len(dropped(caplog, logging.DEBUG)) == 6


class Inventive(FakeSink):
    """Refuses each entry with a code of its own."""

    errors = ErrorTable()

    async def submit_request_entries(self, entries: RequestEntries[FakeEntry], client: FakeClient) -> RequestResult:
        return RequestResult(
            {at: Failure(f"code-{each.name}", "no", FailureKind.REJECTED) for at, each in enumerate(entries)}
        )


def test_codes_without_end_are_warned_of_a_hundred_times(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def run() -> None:
        async with Inventive(FakeDestination()).open(dropping()) as writer:
            await writer.write_many(entries(1, 300))
        assert writer.statistics().dropped == 300

    with caplog.at_level(logging.DEBUG, "asyncsink"):
        run()
    assert (len(dropped(caplog, logging.WARNING)), len(dropped(caplog, logging.DEBUG))) == (100, 200)


@virtual
async def test_what_is_dropped_makes_room_at_once() -> None:
    destination = poisoned(by_index=True)
    config = dropping(max_batch_size_in_bytes=100, max_buffered_size_in_bytes=200)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([poison(name, 90) for name in range(10)] + [FakeEntry(10, 90)])
        await writer.flush(end_of_input=True)
        assert (writer.statistics().size_in_bytes, writer.statistics().dropped) == (0, 10)
    assert stored(destination) == [10]
