"""A sink may make its table of errors out of its options: the writer asks the instance, once."""

from __future__ import annotations

import pytest

from asyncsink import ErrorTable, FatalRequestError
from asyncsink_testing import FakeDestination, FakeSink, Fault
from asyncsink_testing import destination as codes
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, small, stored


class Severe(FakeSink):
    """Takes what says that the service is unavailable for fatal, if it is asked to."""

    severe = False
    asked = 0

    def error_table(self) -> ErrorTable:
        self.asked += 1
        if not self.severe:
            return super().error_table()
        return ErrorTable.of(fatal={codes.UNAVAILABLE: "Wake the people who run it."})


def test_the_table_is_that_of_the_class_unless_a_sink_makes_its_own() -> None:
    assert FakeSink(FakeDestination()).error_table() is FakeSink.errors


@virtual
async def test_two_sinks_of_a_class_may_differ_in_what_a_code_means() -> None:
    destination = FakeDestination([Fault.REFUSED])
    async with Severe(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
    assert (batches(destination), stored(destination)) == ([[1, 2, 3], [1, 2, 3]], [1, 2, 3])

    destination = FakeDestination([Fault.REFUSED])
    sink = Severe(destination)
    sink.severe = True
    with pytest.raises(FatalRequestError, match=r"not now\. Wake the people who run it"):
        async with sink.open(small()) as writer:
            await writer.write_many(entries(1, 3))
    assert len(destination.requests) == 1


@virtual
async def test_a_writer_asks_once() -> None:
    destination = FakeDestination([Fault.REFUSED] * 3)
    sink = Severe(destination)
    async with sink.open(small()) as writer:
        await writer.write_many(entries(1, 9))
    assert sink.asked == 1
    async with sink.open(small()) as writer:
        await writer.write_many(entries(1, 3))
    assert sink.asked == 2
