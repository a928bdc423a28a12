"""A connector over a client that blocks, through the real writer."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from itertools import count
from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSink,
    AsyncSinkWriterConfig,
    BytesSerializer,
    ConnectorOptions,
    ElementConverter,
    Failure,
    InitContext,
    RequestEntries,
    RequestResult,
    RetryPolicy,
    Schema,
    WriteContext,
    option,
)
from asyncsink.blocking import blocking
from asyncsink_testing.http_server import FaultyHttpServer, Reaction

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
PATIENCE_S = 10.0
CONFIG = AsyncSinkWriterConfig(
    max_batch_size=2,
    max_in_flight_requests=3,
    max_buffered_requests=100,
    max_time_in_buffer_s=0.05,
    request_timeout_s=PATIENCE_S,
    retry=RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.01),
)
SHORT = replace(CONFIG, request_timeout_s=0.2)
_names = count()


class Store:
    """A client that blocks: what it stored, who called, and how many at a time; it hangs when it is told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.stored: list[bytes] = []
        self.inside = self.most_inside = 0
        self.hangs_at: set[int] = set()
        self.refuses_at: set[int] = set()
        self.released = threading.Event()
        self.rendezvous: threading.Barrier | None = None
        self._lock = threading.Lock()

    def put(self, entries: RequestEntries[bytes]) -> RequestResult:
        with self._lock:
            number = len(self.calls)
            self.calls.append((entries.id, entries.attempt))
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        try:
            if self.rendezvous is not None:
                self.rendezvous.wait(PATIENCE_S)
            if number in self.hangs_at:
                self.released.wait(PATIENCE_S)
                raise OSError("the connection was closed at last")
            if number in self.refuses_at:
                self.stored.extend(entries[1:])
                return RequestResult({0: Failure("busy")})
            self.stored.extend(entries)
            return RequestResult.OK
        finally:
            with self._lock:
                self.inside -= 1


@dataclass(frozen=True, kw_only=True)
class StoreOptions(ConnectorOptions):
    name: str = option(doc="Tells one store from another.")


class AsItIs(ElementConverter[bytes, bytes]):
    def apply(self, element: bytes, context: WriteContext) -> bytes:
        return element


class StoreSink(AsyncSink[bytes, bytes, Store]):
    options_type = StoreOptions
    defaults = CONFIG
    entry_serializer = BytesSerializer()

    def __init__(self, store: Store, config: AsyncSinkWriterConfig = CONFIG) -> None:
        super().__init__(name=f"store {next(_names)}", config=config)
        self.store = store

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[Store]:
        yield self.store

    def converter(self, schema: Schema | None) -> AsItIs:
        return AsItIs()

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry)

    @blocking
    def submit_request_entries(self, entries: RequestEntries[bytes], client: Store) -> RequestResult:
        return client.put(entries)


def numbers(most: int) -> list[bytes]:
    return [b"%03d" % number for number in range(most)]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what a thread does: it sets no event of the loop's."""
    for _ in range(int(PATIENCE_S / 0.002)):
        if holds():
            return
        await anyio.sleep(0.002)
    raise AssertionError(f"it has not happened in {PATIENCE_S} s")


def run(backend: str, main: Callable[[Store], Awaitable[None]]) -> Store:
    store = Store()
    try:
        anyio.run(main, store, backend=backend)
    finally:
        store.released.set()
    return store


@BACKENDS
def test_everything_arrives_by_as_many_threads_as_requests_may_be_in_flight(backend: str) -> None:
    async def main(store: Store) -> None:
        store.rendezvous = threading.Barrier(3)  # no request ends before three are there
        async with StoreSink(store).open() as writer:
            await writer.write_many(numbers(30))
        assert writer.statistics().acknowledged == 30

    store = run(backend, main)
    assert sorted(store.stored) == numbers(30)
    assert (len(store.calls), store.most_inside) == (15, 3)


@BACKENDS
def test_what_the_client_refuses_is_sent_again(backend: str) -> None:
    async def main(store: Store) -> None:
        store.refuses_at = {0, 3}
        async with StoreSink(store).open() as writer:
            await writer.write_many(numbers(20))
        assert writer.statistics().retried_entries == 2

    assert sorted(run(backend, main).stored) == numbers(20)


@BACKENDS
def test_a_request_whose_thread_hangs_is_cut_at_its_deadline_and_sent_again_under_its_id(backend: str) -> None:
    async def main(store: Store) -> None:
        store.hangs_at = {0, 1}
        async with StoreSink(store).open(SHORT) as writer:
            await writer.write_many(numbers(10))
        assert store.inside == 2, "both threads hang on, and nobody has waited for them"
        assert writer.statistics().acknowledged == 10

    store = run(backend, main)
    assert sorted(set(store.stored)) == numbers(10)
    hung = [call[0] for call in store.calls[:2]]
    assert {(request, attempt) for request in hung for attempt in (1, 2)} <= set(store.calls)
    assert store.most_inside <= 3


@BACKENDS
def test_while_every_thread_hangs_requests_time_out_and_go_when_one_is_free(backend: str) -> None:
    async def main(store: Store) -> None:
        store.hangs_at = {0, 1, 2}
        async with StoreSink(store).open(SHORT) as writer:
            await writer.write_many(numbers(10))
            await until(lambda: writer.statistics().failed_requests >= 6)
            assert (len(store.calls), store.most_inside) == (3, 3), "the resends wait for a thread"
            store.released.set()

    store = run(backend, main)
    assert sorted(set(store.stored)) == numbers(10)
    assert store.most_inside == 3


@BACKENDS
def test_leaving_a_writer_never_waits_for_a_thread_that_hangs(backend: str) -> None:
    class StopError(Exception):
        pass

    async def main(store: Store) -> None:
        store.hangs_at = {0}
        with anyio.fail_after(PATIENCE_S / 2), pytest.raises(StopError):  # noqa: PT012
            async with StoreSink(store).open() as writer:
                await writer.write_many(numbers(2))
                await until(lambda: store.inside == 1)
                raise StopError
        assert store.inside == 1
        assert list(writer.snapshot_state()[0].entries) == numbers(2)

    run(backend, main)


@BACKENDS
def test_no_thread_is_left_after_the_writers(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(blocking.__globals__, "IDLE_S", 0.01)

    def ours() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name.startswith("asyncsink StoreSink")]

    async def main(store: Store) -> None:
        async with StoreSink(store).open() as writer:
            await writer.write_many(numbers(20))
        await until(lambda: not ours())

    run(backend, main)


class PostSink(StoreSink):
    """One connection a request of the standard library's blocking client."""

    url = ""

    @blocking
    def submit_request_entries(self, entries: RequestEntries[bytes], client: Any) -> RequestResult:
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE_S)
        try:
            connection.request("POST", "/put", b",".join(entries), {"Connection": "close"})
            return RequestResult.OK if connection.getresponse().status == 200 else RequestResult({0: Failure("status")})
        finally:
            connection.close()


@BACKENDS
def test_the_standard_librarys_http_client_delivers_everything_whatever_the_server_does(backend: str) -> None:
    async def main(store: Store) -> None:
        hanging, dropping = Reaction.hang(), Reaction.drop_after_storing()
        async with FaultyHttpServer([hanging, Reaction.OK, dropping]) as server:
            sink = PostSink(store)
            sink.url = server.url
            async with sink.open(SHORT) as writer:
                await writer.write_many(numbers(20))
            assert writer.statistics().acknowledged == 20
            server.release()
            stored = [entry for request in server.stored for entry in request.body.split(b",")]
            assert len(stored) >= 22, "a request whose answer was lost came twice"
            assert sorted(set(stored)) == numbers(20)

    run(backend, main)
