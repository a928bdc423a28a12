"""Deterministic batching: the same elements make the same requests with the same ids, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    BufferedRequestState,
    DestinationUnavailableError,
    FatalRequestError,
    RateLimit,
    RetryPolicy,
    WriterInitContext,
)
from asyncsink.blocks import ListBlock
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, PoisonedEntries, SentRequest, Step
from asyncsink_testing.faults import Script
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, small, stored

Write = Callable[[AsyncSinkWriter[Any, Any], Sequence[FakeEntry]], Awaitable[None]]


class Plain(FakeSink):
    """Without routes."""

    @property
    def has_routes(self) -> bool:
        return False


def fixed(**changes: Any) -> AsyncSinkWriterConfig:
    """As :func:`small`, deterministic, with five requests at a time."""
    return small(**{"batching": "deterministic", "max_in_flight_requests": 5, **changes})


def opened(
    destination: FakeDestination, config: AsyncSinkWriterConfig, states: Any = (), sink: type[FakeSink] = Plain
) -> AsyncSinkWriter[Any, Any]:
    context = WriterInitContext(query_id="q", batch_id=7, writer_id=2, attempt=1)
    return sink(destination, config=config).create_writer(context, states)


def sent(destination: FakeDestination) -> dict[str, list[Any]]:
    """The names of the entries by the id of their request; an id never stands for two lists of them."""
    found: dict[str, list[Any]] = {}
    for request in destination.requests:
        assert found.setdefault(request.id, names(request)) == names(request)
    return found


async def one_by_one(writer: AsyncSinkWriter[Any, Any], given: Sequence[FakeEntry]) -> None:
    for each in given:
        await writer.write(each)


async def at_once(writer: AsyncSinkWriter[Any, Any], given: Sequence[FakeEntry]) -> None:
    await writer.write_many(given)


async def in_blocks(writer: AsyncSinkWriter[Any, Any], given: Sequence[FakeEntry]) -> None:
    for start in range(0, len(given), 4):
        part = given[start : start + 4]
        routes = list(dict.fromkeys(each.route for each in part))
        indices = [routes.index(each.route) for each in part]
        await writer.write_block(ListBlock(part, [each.size for each in part], routes=(routes, indices)))


async def slowly(writer: AsyncSinkWriter[Any, Any], given: Sequence[FakeEntry]) -> None:
    for each in given:
        await writer.write(each)
        await anyio.sleep(2.0)


WRITES = [one_by_one, at_once, in_blocks, slowly]
FAULTS: dict[str, list[Fault | Step]] = {
    "none": [],
    "throttled": [Fault.THROTTLED] * 4,
    "throttled by index": [Fault.PARTLY_THROTTLED, Fault.OK, Fault.PARTLY_THROTTLED],
    "lost answers": [Fault.ANSWER_LOST, Fault.OK, Fault.ANSWER_CUT, Fault.DISCONNECTED],
    "refused": [Fault.REFUSED, Fault.REFUSED, Fault.OK, Fault.REFUSED],
    "hanging": [Fault.HANGING, Fault.OK, Fault.HANGING_STORED],
    "mixed": [Fault.REFUSED, Fault.THROTTLED, Fault.ANSWER_LOST, Fault.THROTTLED, Step(latency_s=7.0)],
}


async def ids(
    given: Sequence[FakeEntry],
    write: Write,
    faults: Sequence[Fault | Step],
    config: AsyncSinkWriterConfig,
    sink: type[FakeSink] = Plain,
) -> dict[str, list[Any]]:
    destination = FakeDestination(faults)
    async with opened(destination, config, sink=sink) as writer:
        await write(writer, given)
    assert {each.name for each in given} == set(stored(destination))
    return sent(destination)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
@virtual
async def test_ids_and_entries_do_not_depend_on_faults_or_on_the_speed_of_the_input(
    write: Write, faults: list[Fault | Step]
) -> None:
    expected = {"q/7/2/0+3": [1, 2, 3], "q/7/2/3+3": [4, 5, 6], "q/7/2/6+3": [7, 8, 9], "q/7/2/9+1": [10]}
    assert await ids(entries(1, 10), write, faults, fixed()) == expected


@pytest.mark.parametrize(
    "limit",
    [
        RateLimit.aimd(initial=1, ceiling=3),
        RateLimit.aimd(initial=2, ceiling=2, unit="records"),
        RateLimit.flink(),
        RateLimit.adaptive(),
        RateLimit.paced(),
        RateLimit.fixed(records=2, per_s=1.0, burst=2),
        RateLimit.fixed(requests=1, per_s=3.0),
        RateLimit.none(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("faults", [[], [Fault.THROTTLED, Fault.OK, Fault.REFUSED, Fault.THROTTLED]], ids=len)
@virtual
async def test_no_rate_limit_cuts_a_request_down(limit: RateLimit, faults: list[Fault]) -> None:
    found = await ids(entries(1, 30), at_once, faults, fixed(rate_limit=limit))
    assert sorted(found.values()) == [[each, each + 1, each + 2] for each in range(1, 31, 3)]


@virtual
async def test_a_request_larger_than_the_budget_goes_before_smaller_ones_of_other_routes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Two small requests fit at a time and end one after the other: the large one would wait until there are no more.
    destination = FakeDestination()
    destination.script([Step(latency_s=1.0)], then=Step(latency_s=2.0))
    config = fixed(rate_limit=RateLimit.aimd(initial=2, ceiling=2), max_buffered_requests=40)
    async with FakeSink(destination, config=config, scope_of=lambda route: "all").open() as writer:
        small_ones = [FakeEntry(number, route=f"b{number}") for number in range(9)]
        await writer.write_many(small_ones[:2])
        async with anyio.create_task_group() as group:
            group.start_soon(writer.flush, True)
            await anyio.sleep(0.1)
            await writer.write_many([*entries(101, 103, route="a"), *small_ones[2:]])
            await writer.flush(end_of_input=True)
    assert [len(each.entries) for each in destination.requests] == [1, 1, 3, *[1] * 7]
    assert not caplog.records


@virtual
async def test_nothing_goes_by_its_age() -> None:
    destination = FakeDestination()
    async with opened(destination, fixed(max_time_in_buffer_s=0.1)) as writer:
        await writer.write_many(entries(1, 5))
        await anyio.sleep(3600.0)
        assert batches(destination) == [[1, 2, 3]]
        assert writer.statistics().buffered_entries == 2
        await writer.flush(end_of_input=True)
        assert batches(destination) == [[1, 2, 3], [4, 5]]


@virtual
async def test_a_flush_of_what_is_in_flight_ends_no_batch() -> None:
    destination = FakeDestination()
    async with opened(destination, fixed()) as writer:
        await writer.write_many(entries(1, 5))
        await writer.flush()
        await writer.write(FakeEntry(6))
    assert sent(destination) == {"q/7/2/0+3": [1, 2, 3], "q/7/2/3+3": [4, 5, 6]}


@pytest.mark.parametrize("write", WRITES)
@virtual
async def test_a_batch_ends_before_the_entry_that_would_go_over_and_with_the_one_that_fills_it(write: Write) -> None:
    sizes = [40, 40, 40, 60, 40, 0, 0, 100, 99, 1, 0, 5]
    given = [FakeEntry(name, size) for name, size in enumerate(sizes)]
    config = fixed(max_batch_size=10, max_batch_size_in_bytes=100)
    expected = [[0, 1], [2, 3], [4, 5, 6], [7], [8, 9], [10, 11]]
    schedules: list[list[Fault | Step]] = [[], [Fault.THROTTLED, Fault.REFUSED, Step(latency_s=3.0)]]
    for faults in schedules:
        assert sorted((await ids(given, write, faults, config)).values()) == expected


@pytest.mark.parametrize("write", WRITES)
@virtual
async def test_where_the_buffer_has_no_room_for_the_next_entry_the_batch_ends_whatever_is_in_flight(
    write: Write,
) -> None:
    given = [FakeEntry(name, size) for name, size in enumerate([40, 30, 90, 5, 95, 100, 1])]
    config = fixed(max_batch_size=10, max_batch_size_in_bytes=100, max_buffered_size_in_bytes=100)
    expected = [[0, 1], [2, 3], [4], [5], [6]]
    schedules: list[list[Fault | Step]] = [[], [Step(latency_s=9.0), Fault.THROTTLED, Fault.HANGING]]
    for faults in schedules:
        assert sorted((await ids(given, write, faults, config)).values()) == expected


@virtual
async def test_waiting_for_any_entry_ends_a_batch_only_where_the_largest_would_find_no_room() -> None:
    destination = FakeDestination([Step(latency_s=3.0)])
    config = fixed(max_batch_size=10, max_batch_size_in_bytes=100, max_buffered_size_in_bytes=150)
    async with opened(destination, config) as writer:
        for name, size in enumerate([50, 20, 10, 5]):
            await writer.wait_available()
            writer.write_nowait(FakeEntry(name, size))
    assert sorted(sent(destination).values()) == [[0, 1], [2, 3]]


def routed(count: int) -> list[FakeEntry]:
    """Entries of five routes, one of them for every other entry."""
    return [FakeEntry(name, 1 + name % 7, "hot" if name % 2 else f"cold-{name % 8}") for name in range(count)]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
@virtual
async def test_a_buffer_full_of_routes_is_cut_at_the_same_places(write: Write, faults: list[Fault | Step]) -> None:
    config = fixed(max_batch_size=9, max_buffered_requests=20)
    expected = await ids(routed(100), at_once, [], config, FakeSink)
    assert await ids(routed(100), write, faults, config, FakeSink) == expected
    assert len(expected) > len({entry.route for entry in routed(100)}), "all routes were cut several times"


@pytest.mark.parametrize("write", WRITES)
@virtual
async def test_routes_are_cut_at_the_same_places_where_bytes_fill_the_buffer(write: Write) -> None:
    config = fixed(max_batch_size=19, max_batch_size_in_bytes=100, max_buffered_size_in_bytes=100)
    expected = await ids(routed(60), at_once, [], config, FakeSink)
    schedules: list[list[Fault | Step]] = [
        [Fault.THROTTLED, Step(latency_s=4.0), Fault.REFUSED],
        [Fault.HANGING, Fault.HANGING],
    ]
    for faults in schedules:
        assert await ids(routed(60), write, faults, config, FakeSink) == expected


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
@virtual
async def test_halves_of_a_refused_request_have_the_same_ids(faults: list[Fault | Step]) -> None:
    given = [FakeEntry(name, flaw="poison" if name in (2, 5) else "") for name in range(8)]
    destination = FakeDestination(PoisonedEntries(Script(faults)))
    async with opened(destination, fixed(max_batch_size=4, on_rejected="drop", max_rejected=1.0)) as writer:
        await writer.write_many(given)
    found = sent(destination)
    whole = {"q/7/2/0+4": [0, 1, 2, 3], "q/7/2/4+4": [4, 5, 6, 7]}
    halves = {f"{each}/{which}": held[2 * which :][:2] for each, held in whole.items() for which in (0, 1)}
    alone = {"q/7/2/0+4/1/0": [2], "q/7/2/0+4/1/1": [3], "q/7/2/4+4/0/0": [4], "q/7/2/4+4/0/1": [5]}
    assert found == whole | halves | alone
    assert {*stored(destination)} == {0, 1, 3, 4, 6, 7}


@virtual
async def test_a_writer_that_is_killed_and_one_that_repeats_its_input_leave_one_result() -> None:
    destination = FakeDestination([Fault.ANSWER_LOST, Fault.OK, Step(Fault.HANGING_STORED), Fault.REFUSED])
    with anyio.CancelScope() as driver:
        async with opened(destination, fixed()) as writer:
            await writer.write_many(entries(1, 14))
            await anyio.sleep(1.0)
            driver.cancel()
    assert writer.statistics().unacknowledged
    async with opened(destination, fixed()) as writer:
        await slowly(writer, entries(1, 20))
    # What a destination that heeds the ids would have stored: each request once.
    kept = {each.request_id: each for each in destination.received}
    requests: list[SentRequest] = [destination.requests[each.request] for each in kept.values()]
    assert sorted(name for request in requests for name in names(request)) == [*range(1, 21)]


@virtual
async def test_without_a_query_nobody_repeats_the_input_and_no_id_comes_again() -> None:
    found: set[str] = set()
    for _ in range(2):
        destination = FakeDestination()
        async with Plain(destination).open(fixed()) as writer:
            await writer.write_many(entries(1, 3))
        found |= {each.id for each in destination.requests}
    assert len(found) == 2


@virtual
async def test_what_is_restored_is_no_repetition_and_has_ids_of_its_own() -> None:
    state = BufferedRequestState((FakeEntry("left"),), (1,))
    destination = FakeDestination()
    async with opened(destination, fixed(), [state]) as writer:
        await writer.write_many(entries(1, 2))
    ((request_id, found),) = sent(destination).items()
    assert found == ["left", 1, 2]
    assert request_id.startswith("q/7/2/1.")
    assert request_id.endswith("-0+3")


@pytest.mark.parametrize("fault", [Fault.PARTLY_FAILED, Fault.PARTLY_MIXED])
@virtual
async def test_an_answer_that_sends_single_entries_back_fails_the_writer(fault: Fault) -> None:
    destination = FakeDestination([Step.partly(fault, 0, 1)])
    with pytest.raises(FatalRequestError, match=r"no entry goes again without its request.*use batching = 'eager'"):
        async with opened(destination, fixed()) as writer:
            await writer.write_many(entries(1, 3))
    assert [each.name for each in writer.snapshot_state()[0].entries] == [1, 2, 3]


@virtual
async def test_an_answer_that_throttles_some_entries_fails_the_writer() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_THROTTLED, 1)])
    with pytest.raises(FatalRequestError, match="Throttled: of single entries"):
        async with opened(destination, fixed()) as writer:
            await writer.write_many(entries(1, 3))


@virtual
async def test_an_answer_that_refuses_single_entries_for_good_sends_nothing_again() -> None:
    given = [FakeEntry(name, flaw="poison" if name == 2 else "") for name in range(1, 7)]
    destination = FakeDestination(PoisonedEntries(Script([Fault.ANSWER_LOST]), by_index=True))
    async with opened(destination, fixed(on_rejected="drop", max_rejected=1.0)) as writer:
        await writer.write_many(given)
    assert sent(destination) == {"q/7/2/0+3": [1, 2, 3], "q/7/2/3+3": [4, 5, 6]}


@virtual
async def test_a_request_that_is_throttled_again_and_again_ends_with_the_destinations_time() -> None:
    destination = FakeDestination()
    destination.script([], then=Fault.THROTTLED)
    with pytest.raises(DestinationUnavailableError, match=r"retry.timeout_s = 60"):
        async with opened(destination, fixed(retry=RetryPolicy(timeout_s=60.0))) as writer:
            await writer.write_many(entries(1, 8))
    assert writer.statistics().unacknowledged == 8
