"""What a connector may do under each event loop: tasks of its own that fail, futures of its own that are cancelled."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from asyncsink import (
    AsyncSinkWriter,
    FatalRequestError,
    RateLimit,
    RequestEntries,
    RequestResult,
    RetryPolicy,
    WriterInitContext,
)
from asyncsink_testing import FakeClient, FakeDestination, FakeSink, Fault, RandomFaults, Step
from asyncsink_testing.clients import FreshClients

from .harness import entries, run_on, small, stored


class WithTasks(FakeSink):
    """Waits in tasks of its own; one of the first request's raises when it is cancelled."""

    error: BaseException = ValueError("while being cancelled")
    shielded = False
    submitted: list[tuple[str, int]]

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        self.submitted.append((entries.id, entries.attempt))
        if len(self.submitted) == 1:
            with anyio.CancelScope(shield=self.shielded):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._raise_when_cancelled)
                    group.start_soon(anyio.sleep_forever)
        return await super().submit_request_entries(entries, client)

    async def _raise_when_cancelled(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise self.error


@pytest.mark.parametrize("error", [ValueError("mine"), ConnectionResetError("gone"), LookupError("a bug")], ids=repr)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_that_raises_while_it_is_cut_costs_a_resend_and_not_the_writer(
    backend: str, error: BaseException
) -> None:
    sink = WithTasks(FakeDestination())
    sink.error, sink.submitted = error, []

    async def main() -> None:
        async with sink.open(small(request_timeout_s=0.15, retry=RetryPolicy(initial_backoff_s=0.0))) as writer:
            await writer.write_many(entries(1, 3))
            await writer.flush(end_of_input=True)
            await writer.write_many(entries(4, 9))  # by the same worker
        assert writer.statistics().unacknowledged == 0

    run_on(backend, main)
    first = sink.submitted[0][0]
    assert sink.submitted[:2] == [(first, 1), (first, 2)]
    assert len(sink.submitted) == 4
    assert stored(sink.destination) == [*range(1, 10)]


class OwnGroupFails(FakeSink):
    """A task of its own fails before any deadline."""

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            raise LookupError("a bug")
        return RequestResult.OK


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_group_of_errors_without_a_deadline_is_a_bug_and_fails_the_writer_by_name(backend: str) -> None:
    async def main() -> None:
        async with OwnGroupFails(FakeDestination()).open(small()) as writer:
            await writer.write_many(entries(1, 3))
            with pytest.raises(FatalRequestError, match="ExceptionGroup"):
                await writer.flush(end_of_input=True)
            assert len(writer.snapshot_state()[0].entries) == 3

    run_on(backend, main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closing_while_a_task_raises_when_it_is_cut_raises_nothing_more(backend: str) -> None:
    sink = WithTasks(FakeDestination())
    sink.submitted = []

    async def main() -> None:
        writer = sink.open(small())
        with pytest.raises(ZeroDivisionError):  # noqa: PT012
            async with writer:
                await writer.write_many(entries(1, 3))
                await anyio.sleep(0.01)
                assert len(sink.submitted) == 1
                raise ZeroDivisionError
        assert len(writer.snapshot_state()[0].entries) == 3

    run_on(backend, main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_the_host_while_a_task_raises_when_it_is_cut_raises_nothing_more(backend: str) -> None:
    sink = WithTasks(FakeDestination())
    sink.submitted = []

    async def main() -> None:
        writer = sink.open(small())
        with anyio.move_on_after(0.02) as scope:
            async with writer:
                await writer.write_many(entries(1, 3))
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        assert len(sink.submitted) == 1
        assert len(writer.snapshot_state()[0].entries) == 3

    run_on(backend, main)


class OwnFuture(FakeSink):
    """Hangs at first, if asked to; then awaits a future of its own that is cancelled."""

    hangs = False

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        if self.hangs and entries.attempt == 1:
            await anyio.sleep_forever()
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
        return RequestResult.OK


@pytest.mark.parametrize("hangs", [False, True], ids=["at once", "after a deadline of the same worker"])
def test_a_future_of_the_connectors_own_that_is_cancelled_is_a_fatal_error(hangs: bool) -> None:
    sink = OwnFuture(FakeDestination())
    sink.hangs = hangs

    async def main() -> None:
        config = small(request_timeout_s=0.02, retry=RetryPolicy(initial_backoff_s=0.0))
        async with sink.open(config) as writer:
            await writer.write_many(entries(1, 4))
            with anyio.fail_after(5.0), pytest.raises(FatalRequestError, match="CancelledError"):
                await writer.flush(end_of_input=True)
            assert [entry.name for entry in writer.snapshot_state()[0].entries] == [1, 2, 3, 4]
            assert writer.statistics().in_flight_requests == 0

    anyio.run(main)


@pytest.mark.parametrize("call", ["body", "write", "flush", "leave"])
def test_native_cancellation_of_the_host_arrives_as_it_is_with_everything_in_the_snapshot(call: str) -> None:
    destination = FakeDestination([Step(Fault.HANGING)] * 9)
    writer: AsyncSinkWriter[Any, Any] = FakeSink(destination).open(small(max_buffered_requests=4))

    async def host() -> None:
        async with writer:
            await writer.write_many(entries(1, 7))
            if call == "write":
                await writer.write(entries(8, 8)[0])
            elif call == "flush":
                await writer.flush(end_of_input=True)
            elif call == "body":
                await asyncio.sleep(60.0)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.Task(host(), loop=loop)
        await anyio.wait_all_tasks_blocked()
        assert len(destination.in_flight) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert destination.in_flight == {}
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert [entry.name for entry in writer.snapshot_state()[0].entries] == [*range(1, 8)]
    assert writer.statistics().in_flight_entries == 0


def test_a_storm_in_real_time_loses_nothing_and_leaves_every_counter_at_zero() -> None:
    timeout_s = 0.02
    faults = RandomFaults(
        Random(7),
        [Fault.PARTLY_FAILED, Fault.PARTLY_THROTTLED, Fault.DISCONNECTED, Fault.ANSWER_LOST, Fault.THROTTLED],
        rate=0.3,
        latencies_s=(0.0, 0.001, timeout_s * 0.95, timeout_s, timeout_s * 1.05),
        healthy_after_s=float("inf"),
    )
    destination = FakeDestination(faults)
    config = small(
        max_batch_size=10,
        max_in_flight_requests=8,
        max_buffered_requests=60,
        max_time_in_buffer_s=0.005,
        request_timeout_s=timeout_s,
        rate_limit=RateLimit.aimd(),
        retry=RetryPolicy(max_attempts=10_000, initial_backoff_s=0.001, max_backoff_s=0.004),
    )

    async def main() -> None:
        clients = FreshClients()
        async with AsyncSinkWriter(FakeSink(destination), WriterInitContext(clients=clients), config) as writer:
            async with anyio.create_task_group() as producers:
                for first in range(0, 600, 100):
                    route = "ab"[first // 100 % 2]
                    producers.start_soon(writer.write_many, entries(first, first + 99, route=route))
            await writer.flush(end_of_input=True)
            told, engine = writer.statistics(), writer._engine
            assert (told.accepted, told.acknowledged, told.unacknowledged) == (600, 600, 0)
            assert (told.buffered_entries, told.in_flight_entries, told.in_flight_requests) == (0, 0, 0)
            assert (told.size_in_bytes, engine.waiting_count, engine.lanes, engine.parked) == (0, 0, {}, [])
            for limiter in clients.cache._limiters.values():
                assert (limiter.in_flight, limiter.waiting) == (0, {})

    anyio.run(main)
    assert set(stored(destination)) == set(range(600))
    assert destination.in_flight == {}
