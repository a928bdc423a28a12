"""Clients that are kept over tasks, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest

from asyncsink import InitContext, RequestEntries, RequestResult
from asyncsink.context import WriterInitContext
from asyncsink.spark.clients import CLOSE_TIMEOUT_S, WorkerClients
from asyncsink_testing.destination import FakeDestination
from asyncsink_testing.fake_sink import FakeSink
from asyncsink_testing.virtual_time import run_in_virtual_time

Connect = Callable[[], AbstractAsyncContextManager[str]]


class Destination:
    """Counts what is connected and closed, and in which tasks."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.tasks: list[tuple[int, int]] = []
        self.failing = False
        self.close_s = 0.0

    def client(self, name: str) -> Connect:
        @asynccontextmanager
        async def connect() -> AsyncIterator[str]:
            entered = anyio.get_current_task().id
            if self.failing:
                raise ConnectionRefusedError(name)
            self.events.append(f"+{name}")
            try:
                yield name
                await anyio.sleep(self.close_s)
            finally:
                self.tasks.append((entered, anyio.get_current_task().id))
                self.events.append(f"-{name}")

        return connect


def run(main: Callable[[WorkerClients, Destination], Awaitable[None]]) -> Destination:
    destination = Destination()

    async def hold() -> None:
        async with anyio.create_task_group() as group:
            await main(WorkerClients(group), destination)
            await anyio.sleep(CLOSE_TIMEOUT_S + 1)
            group.cancel_scope.cancel()

    run_in_virtual_time(hold)
    return destination


async def use(clients: WorkerClients, name: str, connect: Connect) -> None:
    async with clients.lease(name, connect) as client:
        assert client == name


def test_a_client_is_kept_from_one_user_to_the_next_and_left_by_the_task_that_entered_it() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        for _ in range(20):
            await use(clients, "a", destination.client("a"))
        assert destination.events == ["+a"]

    destination = run(main)
    assert destination.events == ["+a", "-a"]
    assert all(entered == left for entered, left in destination.tasks)


def test_a_client_has_one_user_at_a_time() -> None:
    users: list[str] = []

    async def main(clients: WorkerClients, destination: Destination) -> None:
        async def user(name: str) -> None:
            async with clients.lease("a", destination.client("a")):
                users.append(f"{name} in")
                await anyio.sleep(1)
                users.append(f"{name} out")

        async with anyio.create_task_group() as group:
            group.start_soon(user, "one")
            group.start_soon(user, "two")

    assert run(main).events == ["+a", "-a"]
    assert [each.split()[1] for each in users] == ["in", "out", "in", "out"]


@pytest.mark.parametrize("error", [ValueError, anyio.BrokenResourceError])
def test_a_client_is_replaced_after_any_error(error: type[Exception]) -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        with pytest.raises(error):
            async with clients.lease("a", destination.client("a")):
                raise error
        await use(clients, "a", destination.client("a"))
        assert destination.events.count("+a") == 2

    run(main)


def test_a_client_is_replaced_after_a_cancellation() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        with anyio.move_on_after(1):
            async with clients.lease("a", destination.client("a")):
                await anyio.sleep_forever()
        await use(clients, "a", destination.client("a"))
        assert destination.events.count("+a") == 2

    run(main)


def test_the_least_recently_used_client_gives_way_to_the_fifth() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        for name in "abcda":
            await use(clients, name, destination.client(name))
        await use(clients, "e", destination.client("e"))
        await anyio.sleep(0.1)
        assert [each for each in destination.events if each[0] == "-"] == ["-b"]

    run(main)


async def use_at_once(clients: WorkerClients, names: str, destination: Destination) -> None:
    async with AsyncExitStack() as stack:
        for name in names:
            await stack.enter_async_context(clients.lease(name, destination.client(name)))


def test_a_writer_that_needs_many_clients_at_once_finds_them_again_in_the_next_micro_batch() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        for _ in range(3):
            await use_at_once(clients, "abcdef", destination)
        await anyio.sleep(0.1)
        assert destination.events == [f"+{name}" for name in "abcdef"]

    run(main)


def test_what_one_of_many_clients_has_made_way_for_goes_at_the_end_of_the_micro_batch() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        await use_at_once(clients, "abcdef", destination)
        await use_at_once(clients, "abdefg", destination)
        await anyio.sleep(0.1)
        assert destination.events == [*(f"+{name}" for name in "abcdefg"), "-c"]

    run(main)


def test_many_clients_that_no_writer_needs_any_more_are_closed() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        await use_at_once(clients, "abcdef", destination)
        await use(clients, "a", destination.client("a"))
        await anyio.sleep(0.1)
        assert sorted(each for each in destination.events if each[0] == "-") == ["-b", "-c"]

    run(main)


def test_what_connecting_raises_reaches_the_user_and_the_next_one_tries_again() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        destination.failing = True
        with pytest.raises(ConnectionRefusedError):
            await use(clients, "a", destination.client("a"))
        destination.failing = False
        await use(clients, "a", destination.client("a"))

    assert run(main).events == ["+a", "-a"]


def test_a_client_that_hangs_while_closing_is_cut_off() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        destination.close_s = 10 * CLOSE_TIMEOUT_S
        with pytest.raises(ValueError, match="broken"):
            async with clients.lease("a", destination.client("a")):
                raise ValueError("broken")
        await anyio.sleep(CLOSE_TIMEOUT_S + 0.1)
        assert destination.events == ["+a", "-a"]

    run(main)


def test_a_client_that_fails_while_closing_warns_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def connect() -> AsyncIterator[str]:
        yield "a"
        raise OSError("reset by peer")

    async def main(clients: WorkerClients, destination: Destination) -> None:
        with pytest.raises(ValueError, match="broken"):
            async with clients.lease("a", connect):
                raise ValueError("broken")
        await anyio.sleep(0.1)
        await use(clients, "b", destination.client("b"))

    run(main)
    assert "A client failed while it was closed: OSError: reset by peer" in caplog.text


def test_limiters_are_one_for_each_fingerprint() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        found: Any = clients.limiters("a")
        assert clients.limiters("a") is found
        assert clients.limiters("b") is not found

    run(main)


def sink_made_for(destination: Destination, place: str) -> FakeSink:
    """Of a class that no module has, like one of a notebook: where it connects to is in its code."""

    class Made(FakeSink):
        def connect(self, context: InitContext) -> AbstractAsyncContextManager[Any]:
            return destination.client(place)()

        async def submit_request_entries(self, entries: RequestEntries[Any], client: Any) -> RequestResult:
            return RequestResult.OK

    return Made(FakeDestination())


def test_classes_of_one_name_that_travel_by_value_do_not_share_clients_and_limiters() -> None:
    async def main(clients: WorkerClients, destination: Destination) -> None:
        sinks = [sink_made_for(destination, place) for place in ("staging", "production")]
        assert sinks[0].fingerprint == sinks[1].fingerprint
        for sink in (*sinks, *sinks):
            async with sink.create_writer(WriterInitContext(clients=clients)) as writer:
                await writer.write(b"row")
        assert destination.events == ["+staging", "+production"]
        assert clients.limiters(sinks[0].client_key) is not clients.limiters(sinks[1].client_key)

    run(main)


def test_each_writer_tells_its_sink_of_the_client_that_was_lent() -> None:
    told: list[tuple[int, Any]] = []

    class Told(FakeSink):
        def connect(self, context: InitContext) -> AbstractAsyncContextManager[Any]:
            return destination.client("a")()

        def connected(self, client: Any) -> None:
            told.append((id(self), client))

        async def submit_request_entries(self, entries: RequestEntries[Any], client: Any) -> RequestResult:
            assert told[-1] == (id(self), client)
            return RequestResult.OK

    destination = Destination()
    sinks = [Told(FakeDestination()) for _ in range(3)]  # each task has its sink from the driver, by value

    async def main(clients: WorkerClients, _: Destination) -> None:
        for sink in sinks:
            async with sink.create_writer(WriterInitContext(clients=clients)) as writer:
                await writer.write(b"row")
        assert destination.events == ["+a"]

    run(main)
    assert told == [(id(sink), "a") for sink in sinks]


def test_a_class_that_can_be_imported_is_known_by_its_options_alone() -> None:
    sink = FakeSink(FakeDestination())
    assert sink.client_key == sink.fingerprint
