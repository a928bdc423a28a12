"""Things that happen at once, or while nobody looks: a row is not lost by them, and a query does not hang."""

from __future__ import annotations

import anyio
import pytest

from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.errors import FatalRequestError, RejectedEntryError
from asyncsink.transactions import Transaction
from asyncsink_testing.virtual_time import virtual

from .harness import STREAM, Service, World, expected, lettered, records
from .test_reconciling import sink_of, stuck

TRANSACTION = Transaction("0123456789abcdef", 1)


# ---- an inactive cluster that rows wait for -----------------------------------------------------------------------


@virtual
async def test_what_an_inactive_cluster_had_in_hand_is_stored_once_it_is_active_again() -> None:
    service = Service(orders={"A": ["orders"]})
    sink = sink_of(service, on_inactive_cluster="wait")
    sink["A"].answer = stuck
    async with sink.writer() as writer:
        await writer.write_many(records(range(10)))
        await anyio.sleep(0.5)
        service.inactive = {"A"}
        await anyio.sleep(1.5)
        await writer.write_many(records(range(10, 12)))
        await anyio.sleep(20)  # longer than retry.timeout
        service.inactive, sink["A"].answer = set(), lambda batch: None
        await anyio.sleep(2)
        await writer.write_many(records(range(12, 14)))
    assert sink["A"].values == expected(range(14))


@virtual
async def test_rows_that_move_to_a_cluster_whose_writer_has_just_ended_are_stored() -> None:
    service = Service(orders={"A": ["orders"]}, moved={"B": ["moved"]}, stays={"B": ["stays"]})
    sink = sink_of(service, on_inactive_cluster="wait", max_batch_size=10, max_buffered_requests=80)
    sink["A"].answer, sink["B"].connect = stuck, anyio.sleep_forever
    async with sink.writer() as writer:
        await writer.write_many(records(range(5), "moved"))
        with anyio.move_on_after(0.5):
            await writer.write_many(records(range(5, 305)))
        service.inactive = {"A"}
        await anyio.sleep(1)
        writer.reconcile_state()
        await anyio.sleep(20)
        service.streams["moved"] = {"A": ["moved"]}
        service.inactive, sink["A"].answer = set(), lambda batch: None
        await anyio.sleep(2)
        await writer.flush()
        told = writer.statistics()
    assert (len(sink["A"].stored["moved"]), told.unacknowledged) == (5, 0)
    assert len(sink["A"].values) == told.accepted


# ---- a flush and a removal at once -----------------------------------------------------------------------------------


@virtual
async def test_whoever_is_first_to_see_that_a_removed_cluster_is_silent_its_rows_go_elsewhere() -> None:
    for _ in range(8):  # it is up to chance who is the first
        service = Service(orders={"A": ["orders"]})
        sink = sink_of(service)
        sink["A"].answer = stuck
        async with sink.writer() as writer, anyio.create_task_group() as group:
            await writer.write_many(records(range(10)))
            await anyio.sleep(0.1)
            group.start_soon(writer.flush)
            await anyio.sleep(0.5)
            service.streams[STREAM] = {"B": ["orders"]}
            discovery = writer._delivery._discovery
            await discovery.changed(discovery.generation)
            writer.reconcile_state()  # before the flush has heard of it
        assert sink["B"].values == expected(range(10))


@virtual
async def test_a_mirrors_cluster_that_moves_and_is_removed_leaves_no_record_to_one_that_counts_on_it() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, router="mirror", removed_cluster_timeout_s=9.0)
    async with sink.writer() as writer:
        await writer.write_many(records(range(100, 150)))
        await writer.flush()
        for each in "AB":
            sink[each].answer = stuck
        await writer.write_many(records(range(10)))
        await anyio.sleep(0.5)
        service.servers["A"] = "elsewhere:9092"
        await anyio.sleep(1)
        writer.reconcile_state()
        service.streams[STREAM] = {"A": ["orders"], "C": ["orders"]}
        await anyio.sleep(1)
        writer.reconcile_state()
        service.streams[STREAM] = {"C": ["orders"]}
        await writer.flush()
    assert {*sink["C"].values} == {*expected(range(10))}


# ---- a stream that is gone -------------------------------------------------------------------------------------------


async def lose_a_stream(service: Service, sink: World) -> None:
    """Write rows of two streams that no writer has when one of the streams goes."""
    sink["A"].connect = anyio.sleep_forever
    async with sink.writer() as writer:
        await writer.write_many([*records(range(3)), *records(range(3, 6), "gone")])
        await anyio.sleep(0.5)
        del service.streams["gone"]
        service.servers["A"] = "elsewhere:9092"
        await anyio.sleep(2)
        with anyio.fail_after(5):
            await writer.flush()
        told = writer.statistics()
        assert (told.accepted, told.acknowledged, told.dead_lettered) == (6, 3, 3)


def streams() -> Service:
    return Service(orders={"A": ["orders"]}, gone={"A": ["gone"]})


@virtual
async def test_accepted_rows_of_a_stream_that_is_gone_become_dead_letters_and_wait_for_nothing() -> None:
    service, store = streams(), DeadLetterMemory()
    sink = sink_of(service, stream_pattern=".*", **lettered(store))
    await lose_a_stream(service, sink)
    assert sink["A"].values == expected(range(3))
    assert [each.code for each in store.letters] == ["STREAM_NOT_SUBSCRIBED"] * 3
    read = [sink.entry_serializer.deserialize(1, each.entry or b"") for each in store.letters]
    assert [(each.stream_id, each.value) for each in read] == [("gone", value) for value in expected(range(3, 6))]


@virtual
async def test_accepted_rows_of_a_stream_that_is_gone_fail_the_writer_where_rejected_ones_do() -> None:
    service = streams()
    with pytest.raises(RejectedEntryError, match="STREAM_NOT_SUBSCRIBED: stream 'gone'"):
        await lose_a_stream(service, sink_of(service, stream_pattern=".*"))


# ---- exactly once ----------------------------------------------------------------------------------------------------


@virtual
async def test_a_batch_that_has_failed_with_a_removed_cluster_is_written_again_without_it() -> None:
    service = Service(orders={"A": ["orders"], "B": ["orders"]})
    sink = sink_of(service, delivery_guarantee="exactly-once", removed_cluster_timeout_s=5.0)
    sink["A"].answer = stuck

    async def attempt(number: int) -> list[str]:
        async with sink.writer(transaction=TRANSACTION, attempt=number) as writer:
            await writer.write_many(records(range(10)))
            await anyio.sleep(0.5)
            service.streams[STREAM] = {"B": ["orders"]}
            prepared = await writer.prepare_commit(True)
            return [each.cluster.name for each in prepared]

    with pytest.raises(FatalRequestError, match="cluster 'A': it was removed"):
        await attempt(0)
    of_the_first = sink["B"].values
    assert await attempt(1) == ["B"]
    assert sink["B"].values == sorted([*of_the_first, *expected(range(10))])
    assert (len(of_the_first), sink["A"].connected) == (5, 1)
