"""Dead letters of a writer: durable before anything counts on them, held until then, whole enough to be sent again."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import anyio
import pytest

from asyncsink import (
    AsyncSinkWriter,
    BytesSerializer,
    DeadLetterError,
    DeliveryError,
    FatalRequestError,
    RetryPolicy,
    SimpleVersionedSerializer,
    WriterClosedError,
    WriterFailedError,
)
from asyncsink.dead_letters import DeadLetterMemory, DeadLetterReason, as_state
from asyncsink.dead_letters.maker import connector_of
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, stored
from .rejected import (
    CONTEXT,
    ClosedStore,
    SlowStore,
    broken,
    held,
    hold_that_it_adds_up,
    keeping,
    large,
    names_in,
    poison,
    poisoned,
    sequences,
)


class BytesSink(FakeSink):
    """Sends bytes, and can turn them into a letter's and back."""

    entry_serializer: ClassVar[SimpleVersionedSerializer[Any] | None] = BytesSerializer()


@pytest.mark.parametrize("end_of_input", [True, False])
@virtual
async def test_letters_are_durable_when_a_flush_returns_and_count_only_then(end_of_input: bool) -> None:
    store = DeadLetterMemory(delay_s=3.0)
    destination = poisoned(by_index=True, then=Step(latency_s=1.0))
    async with FakeSink(destination).open(keeping(store)) as writer:
        await writer.write_many([FakeEntry(1), poison(2), poison(3)])
        await anyio.sleep(1.5)
        told = writer.statistics()
        assert (told.acknowledged, told.dead_lettered, told.rejected, told.unacknowledged) == (1, 0, 2, 2)
        assert held(writer) == [2, 3], "condemned, but in the snapshot until it is durable"
        hold_that_it_adds_up(writer)
        await writer.flush(end_of_input)
        assert names_in(store.letters) == [2, 3]
        assert (writer.statistics().dead_lettered, held(writer)) == (2, [])
        hold_that_it_adds_up(writer)


@virtual
async def test_a_restored_writer_deals_with_condemned_entries_and_knows_no_position_of_theirs() -> None:
    store = SlowStore()
    destination = poisoned(by_index=True)
    async with FakeSink(destination).open(keeping(store)) as first:
        await first.write_many([FakeEntry(1), poison(2), FakeEntry(3)])
        await settled()
        state = first.snapshot_state()
        store.released.set()
    kept = DeadLetterMemory()
    sink = FakeSink(destination, config=keeping(kept))
    async with sink.create_writer(CONTEXT, state) as second:
        assert held(second) == [2]
        await second.write_many([FakeEntry(4), poison(5)])
        await second.flush(end_of_input=True)
    assert stored(destination) == [1, 3, 4]
    assert {name: each.idempotency_id for name, each in zip(names_in(kept.letters), kept.letters, strict=True)} == {
        2: None,
        5: "q/7/3/1",
    }
    told = second.statistics()
    assert (told.restored, told.accepted, told.acknowledged, told.dead_lettered) == (1, 2, 1, 2)


@virtual
async def test_condemned_entries_take_room_until_they_are_durable() -> None:
    store = SlowStore()
    config = keeping(store, max_batch_size_in_bytes=100, max_buffered_size_in_bytes=200)
    async with FakeSink(poisoned(by_index=True)).open(config) as writer:
        await writer.write_many([poison(1, 90), poison(2, 90)])
        await settled()
        assert writer.statistics().size_in_bytes == 180
        with anyio.move_on_after(60.0) as waited:
            await writer.write(FakeEntry(3, 30))
        assert waited.cancelled_caught
        store.released.set()
        with anyio.fail_after(1.0):
            await writer.write(FakeEntry(3, 30))
        assert writer.statistics().size_in_bytes == 30


@virtual
async def test_a_letter_tells_whose_it_is_what_failed_how_often_and_when() -> None:
    store = DeadLetterMemory()
    destination = poisoned(by_index=True, steps=[Step.partly(Fault.PARTLY_FAILED, 1)])
    retry = RetryPolicy(initial_backoff_s=0.1, max_backoff_s=0.1)
    sink = FakeSink(destination, config=keeping(store, retry=retry))
    before = time.time_ns() // 1_000_000
    async with sink.create_writer(CONTEXT) as writer:
        await writer.write_many([FakeEntry(0, route="a"), broken(1), poison(2)._replace(route="a"), large(3)])
        await writer.write_many([poison(name)._replace(route="a") for name in (4, 5)])
    after = time.time_ns() // 1_000_000
    letters = dict(zip(names_in(store.letters), store.letters, strict=True))
    assert {name: each.idempotency_id for name, each in letters.items()} == {n: f"q/7/3/{n}" for n in (1, 2, 3, 4, 5)}
    told = {(each.query_id, each.batch_id, each.writer_id, each.attempt, each.connector) for each in letters.values()}
    assert told == {("q", 7, 3, 1, connector_of(sink))}
    assert {name: (each.reason, each.code, each.route) for name, each in letters.items()} == {
        1: (DeadLetterReason.CONVERSION, "ConversionError", None),
        3: (DeadLetterReason.OVERSIZED, "OversizedEntryError", None),
        **dict.fromkeys((2, 4, 5), (DeadLetterReason.REJECTED, "Malformed", "a")),
    }
    assert "it is broken" in letters[1].message
    assert "max_record_size_in_bytes = 100" in letters[3].message
    attempts = {name: each.attempts for name, each in letters.items()}
    assert (attempts[1], attempts[3]) == (0, 0), "never sent"
    assert set(attempts.values()) == {0, 1}
    assert all(before <= each.first_failed_at <= each.last_failed_at <= after for each in letters.values())


@virtual
async def test_attempts_count_the_answers_that_an_entry_failed_in_by_itself() -> None:
    store = DeadLetterMemory()
    # Refused by index after one answer that called it retryable; what failed as a whole counts for no entry.
    destination = FakeDestination(
        [Fault.REFUSED, Fault.THROTTLED, Step.partly(Fault.PARTLY_FAILED, 0), Step.partly(Fault.POISONED, 0)]
    )
    async with FakeSink(destination).open(keeping(store, max_batch_size=1)) as writer:
        await writer.write(FakeEntry(1))
        await writer.flush(end_of_input=True)
    (letter,) = store.letters
    assert (letter.reason, letter.attempts, len(destination.requests)) == (DeadLetterReason.REJECTED, 2, 4)


@virtual
async def test_what_letters_hold_is_sent_again_by_a_new_writer() -> None:
    store, first = DeadLetterMemory(), FakeDestination([Fault.POISONED])
    async with BytesSink(first).open(keeping(store)) as writer:
        await writer.write_many([b"a", b"\x00\xff", b"ccc"])
        await writer.write(b"d" * 101)
    assert [each.entry for each in store.letters] == [b"d" * 101, b"a", b"\x00\xff", b"ccc"]
    assert {each.entry_version for each in store.letters} == {BytesSerializer.version}
    second = FakeDestination()
    sink = BytesSink(second)
    state = as_state([each for each in store.letters if each.reason is DeadLetterReason.REJECTED], sink)
    async with sink.open(keeping(DeadLetterMemory()), [state]) as again:
        assert again.statistics().restored == 3
    assert second.stored == [b"a", b"\x00\xff", b"ccc"]


# ---- stores that do not do what they should ----------------------------------------------------------------------


@virtual
async def test_a_store_that_cannot_be_opened_is_told_on_entering_and_costs_no_restored_entry() -> None:
    async with FakeSink(FakeDestination()).open(keeping(DeadLetterMemory(), max_time_in_buffer_s=100.0)) as first:
        await first.write_many(entries(1, 2))
        state = first.snapshot_state()
    writer = FakeSink(FakeDestination()).open(keeping(ClosedStore()), state)
    with pytest.raises(DeadLetterError, match="/nowhere"):
        await writer.__aenter__()
    assert held(writer) == [1, 2]


@pytest.mark.parametrize("error", [OSError("no space left"), DeadLetterError("no space left; make room")])
@pytest.mark.parametrize("call", ["flush", "write", "write_many", "none"])
@virtual
async def test_a_store_that_cannot_write_fails_the_writer_once_and_nothing_is_lost(error: Exception, call: str) -> None:
    store = DeadLetterMemory(errors=[error, error])
    destination = poisoned(by_index=True)
    async with FakeSink(destination).open(keeping(store)) as writer:
        await writer.write_many([FakeEntry(1), poison(2), FakeEntry(3)])
        await settled()
        with pytest.raises(DeadLetterError, match="no space left") as caught:  # noqa: PT012
            match call:
                case "flush":
                    await writer.flush()
                case "write":
                    await writer.write(broken(4))
                case "write_many":
                    await writer.write_many([FakeEntry(4), broken(5)])
                case "none":
                    await anyio.sleep(1.0)
                    await writer.write(FakeEntry(6))
        assert caught.value.__cause__ is (error if isinstance(error, OSError) else None)
        for _ in range(2):
            with pytest.raises(WriterFailedError, match="no space left"):
                await writer.flush()
        with pytest.raises(WriterFailedError):
            await writer.write(broken(7))
        assert held(writer) == [2]
        hold_that_it_adds_up(writer)
    assert stored(destination) == [1, 3]
    assert store.letters == []


async def raised_by(call: str, writer: AsyncSinkWriter[Any, Any], raised: list[Exception]) -> None:
    """Make a call that has to wait for the store, and keep what it raises."""
    try:
        match call:
            case "flush":
                await writer.flush()
            case "write":
                await writer.write(broken(4))
            case "write_many":
                await writer.write_many([broken(5), FakeEntry(6)])
    except DeliveryError as error:
        raised.append(error)
    except WriterClosedError as error:
        raised.append(error)


WAITING = pytest.mark.parametrize("call", ["flush", "write", "write_many"])


@WAITING
@virtual
async def test_who_waits_for_a_store_that_hangs_hears_that_the_writer_has_failed(call: str) -> None:
    destination = FakeDestination([Step.partly(Fault.POISONED, 0), Step(Fault.FATAL, 5.0)])
    raised: list[Exception] = []
    async with FakeSink(destination).open(keeping(SlowStore())) as writer:
        await writer.write_many(entries(1, 6))
        await settled()
        with anyio.fail_after(6.0):
            await raised_by(call, writer, raised)
        assert isinstance(raised[0], FatalRequestError)
        assert held(writer) == [1, 4, 5, 6], "the element without a letter was not accepted"
        hold_that_it_adds_up(writer)


@WAITING
@virtual
async def test_who_waits_for_a_store_that_hangs_hears_that_the_writer_was_closed(call: str) -> None:
    raised: list[Exception] = []
    writer = FakeSink(FakeDestination([Step.partly(Fault.POISONED, 0)])).open(keeping(SlowStore()))
    async with writer, anyio.create_task_group() as group:
        await writer.write_many(entries(1, 3))
        await settled()
        group.start_soon(raised_by, call, writer, raised)
        await anyio.sleep(2.0)
        assert raised == []
        with pytest.warns(ResourceWarning, match="1 unacknowledged"):
            await writer.aclose()
    assert isinstance(raised[0], WriterClosedError)
    assert (held(writer), writer.statistics().accepted) == ([1], 3)


@virtual
async def test_letters_of_elements_come_after_those_of_entries_that_were_given_up_before() -> None:
    store = DeadLetterMemory(delay_s=1.0)
    async with FakeSink(poisoned(by_index=True)).open(keeping(store)) as writer:
        await writer.write_many([poison(0), poison(1), FakeEntry(2)])
        await settled()
        await writer.write(broken(3))
        assert sequences(store.letters) == [0, 1, 3]
