"""``ordering="key"``: a key has at most one request under way, what failed goes first, other keys go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSink,
    AsyncSinkWriter,
    ConfigurationError,
    Failure,
    FailureKind,
    FatalRequestError,
    ListBlock,
    RequestEntries,
    RequestResult,
)
from asyncsink_testing import FakeClient, FakeDestination, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import run_in_virtual_time, virtual

from .harness import settled, small, stored
from .keyed import AtomicSink, KeyedEntry, KeyedSink, check_order, keyed, of, said

Write = Callable[[AsyncSinkWriter[Any, Any], list[KeyedEntry]], Awaitable[None]]


async def write(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    for entry in given:
        await writer.write(entry)


async def write_nowait(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    for entry in given:
        await writer.wait_available()
        writer.write_nowait(entry)


async def write_many(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    await writer.write_many(given)


async def write_block(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    await writer.write_block(ListBlock(given, [entry.size for entry in given]))


async def write_block_with_keys(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    await writer.write_block(ListBlock(given, [entry.size for entry in given], [entry.key for entry in given]))


ALL_WRITES = [write, write_nowait, write_many, write_block, write_block_with_keys]
SLOW = Step(latency_s=1.0)

# ---- who may go ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ALL_WRITES)
@virtual
async def test_an_entry_waits_while_its_key_is_under_way_and_the_others_go_on(call: Write) -> None:
    destination = FakeDestination([SLOW] * 9)
    async with KeyedSink(destination).open(keyed()) as writer:
        await call(writer, of("abcade"))
        await settled()
        assert sorted(said(destination)) == ["a1 b2 c3", "d5 e6"]
    assert said(destination)[2:] == ["a4"]
    check_order(destination)


@pytest.mark.parametrize("call", ALL_WRITES)
@virtual
async def test_a_request_that_is_stored_whole_takes_all_of_a_key(call: Write) -> None:
    destination = FakeDestination([SLOW] * 9)
    async with AtomicSink(destination).open(keyed()) as writer:
        await call(writer, of("aaabca"))
    assert sorted(said(destination)) == ["a1 a2 a3", "a6", "b4 c5"]
    check_order(destination, atomic=True)


@virtual
async def test_entries_without_a_key_wait_for_nothing() -> None:
    destination = FakeDestination([SLOW] * 9)
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_many(of("......a.."))
        await settled()
        assert sorted(said(destination)) == [".1 .2 .3", ".4 .5 .6", "a7 .8 .9"]


@virtual
async def test_ten_keys_make_requests_of_ten() -> None:
    destination = FakeDestination(())
    config = keyed(max_batch_size=500, max_batch_size_in_bytes=5000, max_buffered_requests=10_000)
    async with KeyedSink(destination).open(config) as writer:
        await writer.write_many([KeyedEntry(name, name % 10) for name in range(2_000)])
    assert [len(request.entries) for request in destination.requests] == [10] * 200


@virtual
async def test_a_batch_that_the_rate_limit_holds_back_has_one_entry_of_a_key_when_it_goes() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 1.0, retry_after_s=20.0)])
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_many(of("aab"))
        await anyio.sleep(2.0)
        await writer.write_many(of("aab", first=4))
        await anyio.sleep(2.0)
    check_order(destination)
    assert said(destination)[1] == "a1 b3"


@virtual
async def test_a_batch_has_no_more_bytes_than_it_may() -> None:
    destination = FakeDestination(())
    config = keyed(max_batch_size=10, max_batch_size_in_bytes=100)
    async with KeyedSink(destination).open(config) as writer:
        await writer.write_many([KeyedEntry(name, "abcd"[name % 4], 40) for name in range(12)])
    assert [request.size_in_bytes for request in destination.requests] == [80] * 6
    check_order(destination)


# ---- what failed ---------------------------------------------------------------------------------------------

LATER = Step(latency_s=30.0)
PARTLY = [
    Step.partly(Fault.PARTLY_THROTTLED, 0, latency_s=1.0),
    Step.partly(Fault.PARTLY_FAILED, 0, latency_s=1.0, retry_after_s=4.0),
]
WHOLE = [
    Step(Fault.THROTTLED, 1.0),
    Step(Fault.REFUSED, 1.0),
    Step(Fault.ANSWER_LOST, 1.0),
    Step(Fault.DISCONNECTED, 1.0),
    Step(Fault.HANGING),
    Step(Fault.HANGING_STORED),
]


@pytest.mark.parametrize(
    ("sink", "fault"), [*((KeyedSink, fault) for fault in (*WHOLE, *PARTLY)), *((AtomicSink, fault) for fault in WHOLE)]
)
@pytest.mark.parametrize("call", ALL_WRITES)
def test_what_failed_goes_to_the_very_front_of_its_key(sink: type[KeyedSink], fault: Step, call: Write) -> None:
    async def main() -> None:
        destination = FakeDestination([fault, SLOW, fault, SLOW, fault])
        async with sink(destination).open(keyed()) as writer:
            await call(writer, of("abcabcaabbccabc.a.b"))
        assert {entry.name for entry in destination.stored} == set(range(1, 20))
        check_order(destination, sink.atomic_requests)

    run_in_virtual_time(main)


@virtual
async def test_an_entry_in_its_own_backoff_parks_its_key_and_the_others_go_on() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, retry_after_s=40.0)])
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_many(of("abc"))
        await writer.write_many(of("abcabc", first=4))
        await anyio.sleep(39.0)
        assert said(destination) == ["a1 b2 c3", "b5 c6", "b8 c9"]
        assert writer.statistics().buffered_entries == 3
    assert said(destination)[3:] == ["a1", "a4", "a7"]


@virtual
async def test_a_sealed_request_holds_its_keys_until_it_is_answered() -> None:
    destination = FakeDestination([Step(Fault.DISCONNECTED, 0.0), LATER, SLOW])
    async with KeyedSink(destination).open(keyed(request_timeout_s=60.0)) as writer:
        await writer.write_many(of("abc"))
        await anyio.sleep(5.0)
        await writer.write_many(of("abcdef", first=4))
        await anyio.sleep(20.0)
        assert said(destination) == ["a1 b2 c3", "a1 b2 c3", "d7 e8 f9"]
    assert said(destination)[3:] == ["a4 b5 c6"]


@virtual
async def test_a_late_answer_frees_the_keys_it_tells_of() -> None:
    uncut = Step(latency_s=12.0, uncut_s=5.0)
    destination = FakeDestination([uncut, Step(Fault.HANGING, retry_after_s=None)])
    config = keyed(request_timeout_s=10.0, rate_limit=small().rate_limit)
    async with KeyedSink(destination).open(config) as writer:
        await writer.write_many(of("abc"))
        await writer.write_many(of("abc", first=4))
    check_order(destination)
    assert {entry.name for entry in destination.stored} == set(range(1, 7))


class Replacing(KeyedSink):
    """An entry of one byte comes back as one of two bytes."""

    def new_key(self, key: str) -> str:
        return key

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        await super().submit_request_entries(entries, client)
        made = {at: entry._replace(key=self.new_key(entry.key), size=2) for at, entry in enumerate(entries)}
        small = [at for at, entry in enumerate(entries) if entry.size == 1]
        return RequestResult({at: Failure("Again", kind=FailureKind.RETRYABLE, replacement=made[at]) for at in small})


class Renaming(Replacing):
    """Its replacements have another key."""

    def new_key(self, key: str) -> str:
        return f"not {key}"


@virtual
async def test_a_replacement_keeps_the_place_of_its_entry_in_its_key() -> None:
    destination = FakeDestination(())
    async with Replacing(destination).open(keyed()) as writer:
        await writer.write_many(of("abcabc"))
    for key in "abc":
        mine = [(entry.name, entry.size) for entry in destination.stored if entry.key == key]
        first, second = sorted({name for name, _ in mine})
        assert mine == [(first, 1), (first, 2), (second, 1), (second, 2)]


@virtual
async def test_a_replacement_with_another_key_is_fatal_and_all_entries_stay() -> None:
    writer = Renaming(FakeDestination()).open(keyed())
    with pytest.raises(FatalRequestError, match="another key"):
        async with writer:
            await writer.write_many(of("aa"))
    assert writer.snapshot_state()[0].entries == tuple(of("aa"))


@virtual
async def test_a_given_up_entry_frees_its_key() -> None:
    destination = FakeDestination([Step.partly(Fault.POISONED, 0), Step(Fault.REJECTED)])
    async with KeyedSink(destination).open(keyed(on_rejected="drop", max_rejected=1.0)) as writer:
        await writer.write_many(of("aaa"))
    assert said(destination) == ["a1", "a2", "a3"]
    assert stored(destination) == [3]


@virtual
async def test_an_entry_that_runs_out_of_attempts_frees_its_key() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0)] * 3)
    retry = small().retry
    config = keyed(on_rejected="drop", max_rejected=1.0, retry=type(retry)(max_attempts=3, initial_backoff_s=0.0))
    async with KeyedSink(destination).open(config) as writer:
        await writer.write_many(of("aa"))
    assert said(destination) == ["a1", "a1", "a1", "a2"]
    assert writer._engine.lane(None).is_idle


# ---- flush, timer, bounds ------------------------------------------------------------------------------------


@virtual
async def test_a_whole_flush_sends_what_waits_for_its_key() -> None:
    destination = FakeDestination([SLOW] * 20)
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_many(of("aaaa"))
        await writer.flush(end_of_input=True)
        assert said(destination) == ["a1", "a2", "a3", "a4"]
        assert writer.statistics().unacknowledged == 0


@virtual
async def test_a_flush_of_what_is_under_way_leaves_what_waits_for_its_key() -> None:
    destination = FakeDestination([SLOW] * 20)
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_many(of("aaabc"))
        await settled()
        await writer.flush(end_of_input=False)
        assert anyio.current_time() - destination.requests[0].started_s == 1.0
        assert stored(destination) == [1, 4, 5]


@virtual
async def test_the_age_timer_sends_what_waits_for_its_key_as_soon_as_it_may() -> None:
    destination = FakeDestination([Step(latency_s=8.0), SLOW])
    async with KeyedSink(destination).open(keyed()) as writer:
        begin_s = anyio.current_time()
        await writer.write_many(of("abcab"))
        await anyio.sleep(9.5)
        assert [(request.started_s - begin_s, len(request.entries)) for request in destination.requests] == [
            (0.0, 3),
            (8.0, 2),
        ]


@virtual
async def test_a_buffer_full_of_one_key_drains() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 1.0)])
    async with KeyedSink(destination).open(keyed(max_buffered_requests=4)) as writer:
        await writer.write_many([KeyedEntry(name, "a") for name in range(40)])
    assert stored(destination) == list(range(40))
    check_order(destination)


@virtual
async def test_a_buffer_full_of_a_parked_key_waits_for_it() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, retry_after_s=20.0)])
    async with KeyedSink(destination).open(keyed(max_buffered_requests=4)) as writer:
        await writer.write_many([KeyedEntry(name, "a") for name in range(10)])
        await writer.write_many([KeyedEntry(name, "b") for name in range(10, 20)])
    assert sorted(stored(destination)) == list(range(20))
    check_order(destination)


@virtual
async def test_nothing_is_left_of_ten_thousand_keys_after_a_flush() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED), Step.partly(Fault.PARTLY_FAILED, 0, 7), Fault.DISCONNECTED])
    config = keyed(max_batch_size=500, max_batch_size_in_bytes=5000, max_buffered_requests=20_000)
    async with KeyedSink(destination).open(config) as writer:
        await writer.write_many([KeyedEntry(name, name % 10_000) for name in range(30_000)])
        await writer.flush(end_of_input=True)
        lane: Any = writer._engine.lane(None)
        assert (lane._lines, lane._heads, lane._line_of_head) == ({}, [], {})
    check_order(destination)


# ---- state ---------------------------------------------------------------------------------------------------


@virtual
async def test_a_snapshot_has_all_in_the_order_of_acceptance_whoever_holds_their_keys() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 1, retry_after_s=9.0), Fault.DISCONNECTED, LATER])
    given = of("abcabcabcabc")
    async with KeyedSink(destination).open(keyed(request_timeout_s=60.0)) as writer:
        await writer.write_many(given)
        await settled()
        (state,) = writer.snapshot_state()
        assert list(state.entries) == [entry for entry in given if entry not in destination.stored]


@virtual
async def test_restored_entries_keep_the_order_of_their_keys() -> None:
    first, second = FakeDestination([Fault.HANGING]), FakeDestination([Step(Fault.THROTTLED), SLOW])
    given = of("abcaabbcc")
    writer = KeyedSink(first).open(keyed())
    async with writer:
        await writer.write_many(given)
        await settled()
        with pytest.warns(ResourceWarning, match="9 unacknowledged"):
            await writer.aclose()
    (state,) = writer.snapshot_state()
    assert list(state.entries) == given
    async with KeyedSink(second).open(keyed(), [state]) as restored:
        await restored.write_many(of("abc", first=10))
    assert len(second.stored) == 12
    check_order(second)


# ---- what is refused -----------------------------------------------------------------------------------------


class Keyless(FakeSink):
    """Does not override :meth:`~asyncsink.AsyncSink.key_of`."""

    key_of = AsyncSink.key_of

    def __init__(self, options: Any = None, *, config: Any = None) -> None:
        super().__init__(FakeDestination(), config=config)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Keyless(config=keyed()),
        lambda: Keyless().open(keyed()),
        lambda: Keyless.from_options({"ordering": "key"}),
    ],
    ids=["sink", "writer", "options"],
)
def test_order_without_keys_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigurationError, match="ordering = 'key' needs keys, and Keyless has none"):
        make()
