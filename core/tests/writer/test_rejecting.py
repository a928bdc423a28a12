"""Elements that can never be delivered: refused by the destination, too large, not convertible, out of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSinkWriter,
    BufferedRequestState,
    ConversionError,
    ListBlock,
    OversizedEntryError,
    RejectedEntryError,
    RequestRejectedError,
    RetryPolicy,
    TooManyRejectedError,
)
from asyncsink.dead_letters import DeadLetterMemory, DeadLetterReason
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, SentRequest, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, names, settled, small, stored
from .rejected import (
    SlowStore,
    broken,
    dropping,
    held,
    hold_that_it_adds_up,
    keeping,
    large,
    names_in,
    poison,
    poisoned,
    sequences,
)

WAYS = ["write", "write_many", "write_batch", "write_block", "write_nowait"]


class Rows(list[Any]):
    """Stands for a record batch, to which a converter without ``apply_batch`` does the same."""

    def to_pylist(self) -> list[Any]:
        return list(self)


async def write_by(way: str, writer: AsyncSinkWriter[Any, Any], elements: Sequence[FakeEntry]) -> None:
    match way:
        case "write":
            for each in elements:
                await writer.write(each)
        case "write_many":
            await writer.write_many(elements)
        case "write_batch":
            await writer.write_batch(Rows(elements))
        case "write_block":
            await writer.write_block(ListBlock(elements, [each.size for each in elements]))
        case "write_nowait":
            for each in elements:
                writer.write_nowait(each)


def of_both_kinds(way: str) -> list[FakeEntry]:
    """Good elements around those that cannot be sent; a block holds entries, so that none cannot be converted."""
    bad = large if way == "write_block" else broken
    return [FakeEntry(0), bad(1), FakeEntry(2), FakeEntry(3), large(4), large(5), FakeEntry(6), bad(7)]


@pytest.mark.parametrize("way", WAYS)
@virtual
async def test_a_write_raises_for_what_cannot_be_sent_and_the_writer_goes_on(way: str) -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        refused: list[tuple[FakeEntry, type[Exception], str]] = [
            (large(1), OversizedEntryError, "101 bytes, more than max_record_size_in_bytes = 100")
        ]
        if way != "write_block":
            refused.append((broken(1), ConversionError, "could not convert element .*: ValueError: it is broken"))
        for bad, error, text in refused:
            before = writer.statistics().accepted
            with pytest.raises(error, match=text):
                await write_by(way, writer, [FakeEntry(0), bad, FakeEntry(2)])
            assert writer.statistics().accepted == before + 1, "what came before it was accepted, and no more"
            hold_that_it_adds_up(writer)
        await write_by(way, writer, [FakeEntry(9)])
    assert stored(destination)[-1] == 9
    assert writer.statistics().rejected == 0


@pytest.mark.parametrize("way", [way for way in WAYS if way != "write_nowait"])
@virtual
async def test_dead_letters_are_durable_when_the_write_returns_and_tell_the_position_of_each(way: str) -> None:
    destination, store = FakeDestination(), DeadLetterMemory(delay_s=1.0)
    async with FakeSink(destination).open(keeping(store)) as writer:
        await write_by(way, writer, of_both_kinds(way))
        assert sorted(names_in(store.letters)) == [1, 4, 5, 7]
        assert sequences(store.letters) == names_in(store.letters), "the position of the row"
        hold_that_it_adds_up(writer)
        assert writer.statistics().dead_lettered == 4
        await writer.write(poison(8))
        await writer.write(large(9))
    assert stored(destination) == [0, 2, 3, 6, 8]
    reason = DeadLetterReason.OVERSIZED if way == "write_block" else DeadLetterReason.CONVERSION
    assert {sequence: each.reason for sequence, each in zip(sequences(store.letters), store.letters, strict=True)} == {
        **dict.fromkeys((1, 7), reason),
        **dict.fromkeys((4, 5, 9), DeadLetterReason.OVERSIZED),
    }
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.dead_lettered, told.rejected) == (10, 5, 5, 5)


@pytest.mark.parametrize("way", WAYS)
@virtual
async def test_dropped_elements_are_accepted_counted_and_passed_over_in_order(way: str) -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(dropping()) as writer:
        await write_by(way, writer, of_both_kinds(way))
        hold_that_it_adds_up(writer)
    assert stored(destination) == [0, 2, 3, 6]
    told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.dropped, told.dead_lettered) == (8, 4, 4, 0)


@pytest.mark.parametrize("bad", [broken("x"), large("x")])
@virtual
async def test_write_nowait_cannot_wait_for_a_letter_and_raises(bad: FakeEntry) -> None:
    store = DeadLetterMemory()
    destination = poisoned()
    async with FakeSink(destination).open(keeping(store)) as writer:
        with pytest.raises(RejectedEntryError):
            writer.write_nowait(bad)
        assert writer.statistics().accepted == 0
        await writer.write(bad)
        writer.write_nowait(poison("y"))
    assert names_in(store.letters) == ["x", "y"]
    assert sequences(store.letters) == [0, 1], "the call that raised has used up no position"


@pytest.mark.parametrize("way", ["write", "write_many", "write_batch", "write_block"])
@virtual
async def test_a_write_that_is_cancelled_while_its_letter_is_written_has_accepted_a_prefix(way: str) -> None:
    store = SlowStore()
    bad = large if way == "write_block" else broken
    async with FakeSink(FakeDestination()).open(keeping(store, max_time_in_buffer_s=100.0)) as writer:
        with anyio.move_on_after(1.0) as cancelled:
            await write_by(way, writer, [FakeEntry(0), bad(1), FakeEntry(2)])
        assert cancelled.cancelled_caught
        assert held(writer) in ([], [0]), "an element whose letter is not durable has not been accepted"
        hold_that_it_adds_up(writer)
        store.released.set()
        await write_by(way, writer, [bad(3), FakeEntry(4)])
        await writer.flush(end_of_input=True)
        hold_that_it_adds_up(writer)
        assert writer.statistics().dead_lettered == 1


@pytest.mark.parametrize("way", ["write_many", "write_batch", "write_block"])
@pytest.mark.parametrize("cancelled_s", [0.5, 1.5, 2.5, 3.5])
@virtual
async def test_a_call_that_is_cancelled_while_it_waits_for_room_has_accepted_a_prefix(
    way: str, cancelled_s: float
) -> None:
    destination = FakeDestination()
    destination.script([], then=Step(latency_s=1.0))
    bad = large if way == "write_block" else broken
    given = [bad(name) if name % 5 == 3 else FakeEntry(name) for name in range(20)]
    async with FakeSink(destination).open(dropping(max_batch_size=2, max_buffered_requests=4)) as writer:
        with anyio.move_on_after(cancelled_s) as scope:
            await write_by(way, writer, given)
        assert scope.cancelled_caught
        hold_that_it_adds_up(writer)
        accepted = writer.statistics().accepted
        assert 4 < accepted < 20
        good = [name for name in range(accepted) if name % 5 != 3]
        assert stored(destination) + held(writer) == good
        assert writer.statistics().dropped == accepted - len(good)


class NeverTwo:
    """Fails the entry 2 by itself, again and again."""

    def next_step(self, request: SentRequest) -> Step:
        return Step.partly(Fault.PARTLY_FAILED, *(at for at, entry in enumerate(request.entries) if entry.name == 2))


@virtual
async def test_an_entry_that_has_run_out_of_attempts_is_given_up_alone() -> None:
    destination, store = FakeDestination(NeverTwo()), DeadLetterMemory()
    retry = RetryPolicy(max_attempts=3, initial_backoff_s=0.1, max_backoff_s=0.1)
    async with FakeSink(destination).open(keeping(store, retry=retry)) as writer:
        await writer.write_many(entries(1, 8))
        await writer.flush(end_of_input=True)
        hold_that_it_adds_up(writer)
    assert sorted(stored(destination)) == [1, 3, 4, 5, 6, 7, 8]
    (letter,) = store.letters
    assert (letter.reason, letter.code, letter.attempts) == (DeadLetterReason.EXHAUSTED, "InternalError", 3)
    assert sum(2 in names(each) for each in destination.requests) == 3


@virtual
async def test_the_error_for_an_entry_out_of_attempts_names_the_last_request_and_what_to_do() -> None:
    destination = FakeDestination(NeverTwo())
    retry = RetryPolicy(max_attempts=2, initial_backoff_s=0.1, max_backoff_s=0.1)
    async with FakeSink(destination).open(small(retry=retry)) as writer:
        await writer.write_many(entries(1, 3))
        with pytest.raises(RequestRejectedError) as caught:
            await writer.flush(end_of_input=True)
    assert str(caught.value).startswith(
        f"1 entry has failed retry.max_attempts = 2 times, the last time in request {destination.requests[-1].id} with "
        "InternalError"
    )
    assert str(caught.value).endswith('set on_rejected to "dead_letter" or "drop".')
    assert held(writer) == [2]


@pytest.mark.parametrize("by_index", [True, False])
@virtual
async def test_the_error_says_how_many_of_which_request_were_refused_and_what_to_do(by_index: bool) -> None:
    destination = poisoned(by_index=by_index)
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many([FakeEntry(1), poison(2), FakeEntry(3)])
        await settled()
        with pytest.raises(RequestRejectedError) as caught:
            await writer.flush()
        text, request = str(caught.value), destination.requests[-1]
        assert f"request {request.id}" in text
        assert text.startswith("1 entry of the 3 " if by_index else "the only entry ")
        assert "Malformed" in text
        assert text.endswith('to go on without such entries, set on_rejected to "dead_letter" or "drop".')
        assert 2 in held(writer)
        hold_that_it_adds_up(writer)


@virtual
async def test_too_many_rejected_fail_the_writer_at_a_flush_and_never_before_a_hundred() -> None:
    config = dropping(max_rejected=0.1, max_batch_size=10, max_buffered_requests=500)
    async with FakeSink(FakeDestination()).open(config) as writer:
        await writer.write_many([broken(name) for name in range(99)])
        await writer.flush()
        await writer.write(FakeEntry(99))
        assert writer.statistics().accepted == 100, "only a flush judges"
        with pytest.raises(TooManyRejectedError, match=r"99 of 100 elements.*max_rejected = 0\.1"):
            await writer.flush(end_of_input=True)


@pytest.mark.parametrize(("bad", "fails"), [(10, False), (11, True)])
@virtual
async def test_the_share_is_of_all_that_was_accepted(bad: int, fails: bool) -> None:
    store = DeadLetterMemory()
    config = keeping(store, max_rejected=0.1, max_batch_size=10, max_buffered_requests=500)
    given = [poison(name) if name < bad else FakeEntry(name) for name in range(100)]
    writer = FakeSink(poisoned(by_index=True)).open(config)
    if fails:
        with pytest.raises(TooManyRejectedError, match="11 of 100 elements"):
            async with writer:
                await writer.write_many(given)
    else:
        async with writer:
            await writer.write_many(given)
    assert len(store.letters) == bad
    hold_that_it_adds_up(writer)


@virtual
async def test_the_share_is_of_what_was_restored_too() -> None:
    states = [BufferedRequestState(tuple(FakeEntry(name) for name in range(91)), (1,) * 91)]
    config = dropping(max_rejected=0.1, max_batch_size=10, max_buffered_requests=500)
    async with FakeSink(FakeDestination()).open(config, states) as writer:
        await writer.write_many([broken(name) for name in range(91, 101)])
        await writer.flush(end_of_input=True)
        assert writer.statistics().dropped == 10, "10 of 101: fewer than a tenth, though all that was accepted"
        await writer.write(broken(101))
        with pytest.raises(TooManyRejectedError, match="11 of 102 elements"):
            await writer.flush(end_of_input=True)
