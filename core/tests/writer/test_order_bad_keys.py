"""A sink whose keys cannot be had: the call raises, nothing is accepted, and the writer goes on."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from asyncsink import BufferedRequestState
from asyncsink_testing import FakeDestination
from asyncsink_testing.virtual_time import virtual

from .keyed import KeyedSink, check_order, keyed, of
from .test_order import ALL_WRITES, Write, write, write_nowait


class KeyOfRaises(KeyedSink):
    def key_of(self, entry: Any) -> Hashable | None:
        if entry.key == "!":
            raise LookupError("no such key")
        return super().key_of(entry)


class KeyCannotBeHashed(KeyedSink):
    def key_of(self, entry: Any) -> Any:
        return ["no", "hash"] if entry.key == "!" else super().key_of(entry)


SINKS = [KeyOfRaises, KeyCannotBeHashed]


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("call", ALL_WRITES[:-1])  # the last brings keys of its own
@virtual
async def test_nothing_is_accepted_and_the_writer_goes_on(sink: type[KeyedSink], call: Write) -> None:
    destination = FakeDestination()
    async with sink(destination).open(keyed()) as writer:
        await call(writer, of("ab"))
        before, held = writer.statistics(), writer.snapshot_state()
        for keys in ["!"] if call in (write, write_nowait) else ["!", "ab!", "!ab", "c!d"]:
            with pytest.raises((LookupError, TypeError)):
                await call(writer, of(keys, first=11))
            assert writer.statistics() == before
            assert writer.snapshot_state() == held
        assert set(writer._engine.lane(None)._lines) == {"a", "b"}  # type: ignore[attr-defined]
        await call(writer, of("cab", first=21))
    assert [entry.name for entry in destination.stored] == [1, 2, 21, 22, 23]
    check_order(destination)


@pytest.mark.parametrize("sink", SINKS)
@virtual
async def test_a_restored_entry_whose_key_cannot_be_had_raises_on_entering_and_nothing_is_lost(
    sink: type[KeyedSink],
) -> None:
    given = tuple(of("a!b"))
    writer = sink(FakeDestination()).open(keyed(), [BufferedRequestState(given, (1, 1, 1))])
    with pytest.raises((LookupError, TypeError)):
        async with writer:
            pytest.fail("it was entered")
    assert writer.snapshot_state()[0].entries == given
