"""A sink over the model of a destination: the real writer with a connector that does nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from asyncsink import (
    AsyncSink,
    AsyncSinkWriterConfig,
    ConnectorOptions,
    ElementConverter,
    ErrorTable,
    InitContext,
    RequestEntries,
    RequestResult,
    Schema,
    WriteContext,
    option,
)
from asyncsink_testing import destination as codes
from asyncsink_testing.destination import FakeDestination


class FakeEntry(NamedTuple):
    """An entry as small as it can be: a name that tells it apart, a size, and a route and a key if it has them.

    :param flaw: ``"poison"`` for what a destination with :class:`~asyncsink_testing.PoisonedEntries` refuses,
        ``"broken"`` for what the converter refuses
    """

    name: Hashable
    size: int = 1
    route: Hashable | None = None
    key: Hashable | None = None
    flaw: str = ""


class IdentityConverter(ElementConverter[Any, Any]):
    """The element is the entry, unless it is broken."""

    def apply(self, element: Any, context: WriteContext) -> Any:
        if getattr(element, "flaw", "") == "broken":
            raise ValueError("it is broken")
        return element


@dataclass(frozen=True, kw_only=True)
class FakeOptions(ConnectorOptions):
    """The options of :class:`FakeSink`."""

    name: str = option("fake", doc="Tells sinks with different clients apart.")


@dataclass(frozen=True, slots=True)
class FakeClient:
    """A connection to a :class:`FakeDestination`; it knows the number of the writer that it belongs to."""

    destination: FakeDestination
    writer: int


class FakeSink(AsyncSink[Any, Any, FakeClient]):
    """Sends :class:`FakeEntry` or bytes to a :class:`FakeDestination` of the same process.

    Unlike other sinks it holds its destination and cannot be pickled. Each client that it connects gets the next
    number among the destination's writers, from 1.

    :param scope_of: the scope of a route; by default each route is one
    """

    options_type: ClassVar[type[ConnectorOptions]] = FakeOptions
    errors: ClassVar[ErrorTable] = ErrorTable.of(
        throttled=[codes.THROTTLED],
        retryable=[codes.INTERNAL, codes.UNAVAILABLE],
        rejected=[codes.POISONED],
        fatal={codes.FORBIDDEN: "Allow this program to write to the destination."},
    )

    def __init__(
        self,
        destination: FakeDestination,
        *,
        config: AsyncSinkWriterConfig | None = None,
        scope_of: Callable[[Hashable | None], Hashable | None] | None = None,
        name: str = "fake",
    ) -> None:
        super().__init__(FakeOptions(name=name), config=config)
        self.destination = destination
        self._scope_of = scope_of
        destination.history.scope_of = self.scope_of
        destination.history.atomic = self.atomic_requests

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[FakeClient]:
        return self._connected()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[FakeClient]:
        self.destination.history.writers += 1
        yield FakeClient(self.destination, self.destination.history.writers)

    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return IdentityConverter()

    def size_in_bytes(self, entry: Any) -> int:
        return entry.size if isinstance(entry, FakeEntry) else len(entry)

    def route_of(self, entry: Any) -> Hashable | None:
        return entry.route if isinstance(entry, FakeEntry) else None

    def key_of(self, entry: Any) -> Hashable | None:
        return entry.key if isinstance(entry, FakeEntry) else None

    def scope_of(self, route: Hashable | None) -> Hashable | None:
        return route if self._scope_of is None else self._scope_of(route)

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        return await client.destination.handle(entries, client.writer, self.scope_of(entries.route))


class AtomicFakeSink(FakeSink):
    """One whose destination stores each request whole or not at all, so that a request may hold a key twice."""

    atomic_requests: ClassVar[bool] = True
