"""A connector that does everything right, over a destination in process: what the mutants are made of."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from asyncsink import (
    AsyncSink,
    AsyncSinkWriterConfig,
    ConnectorOptions,
    DataclassSerializer,
    ElementConverter,
    ErrorTable,
    InitContext,
    RequestEntries,
    RequestResult,
    Schema,
    WriteContext,
    option,
)
from asyncsink.errors import DestinationUnavailableError
from asyncsink.plugins import ConnectorInfo, hookimpl, register, unregister
from asyncsink_testing import Capabilities, InProcessDestination
from asyncsink_testing import destination as codes
from asyncsink_testing.conformance import Subject
from asyncsink_testing.conformance.trial import TUNING

MAX_BATCH, MAX_BATCH_BYTES, MAX_RECORD_BYTES = 10, 20_000, 10_000

CAPABILITIES = Capabilities(
    guarantee="at-least-once",
    ordering="key",
    partial_failure=True,
    atomic_requests=False,
    idempotent=False,
    rejects_entries=True,
    retry_after=True,
    keeps_state=True,
    commits=False,
    max_batch_entries=MAX_BATCH,
    max_batch_bytes=MAX_BATCH_BYTES,
    max_record_bytes=MAX_RECORD_BYTES,
    client_modules=("sqlite3",),
)


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions(ConnectorOptions):
    """Where the destination is, and who asks."""

    endpoint: str = option(doc="Endpoint of the destination.")
    token: str | None = option(None, doc="Who asks.", secret=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row as JSON, and its key."""

    payload: bytes
    key: str


class JsonConverter(ElementConverter[Mapping[str, Any], Entry]):
    """A row as it is."""

    def apply(self, element: Mapping[str, Any], context: WriteContext) -> Entry:
        return Entry(json.dumps(element).encode(), element["key"])


class ReferenceSink(AsyncSink[Mapping[str, Any], Entry, InProcessDestination]):
    """Sends rows to an :class:`InProcessDestination`."""

    options_type: ClassVar[type[ConnectorOptions]] = ReferenceOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(
        max_batch_size=MAX_BATCH, max_batch_size_in_bytes=MAX_BATCH_BYTES, max_record_size_in_bytes=MAX_RECORD_BYTES
    )
    errors: ClassVar[ErrorTable] = ErrorTable.of(
        throttled=[codes.THROTTLED],
        retryable=[codes.INTERNAL, codes.UNAVAILABLE],
        rejected=[codes.POISONED],
        fatal={codes.FORBIDDEN: "Allow this program to write to the destination."},
    )
    entry_serializer: ClassVar[Any] = DataclassSerializer(Entry)

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[InProcessDestination]:
        return self._connected()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        try:
            destination = InProcessDestination.at(self.options.endpoint)
        except ConnectionRefusedError as error:
            raise DestinationUnavailableError(f"no connection to {self.options.endpoint!r}: {error}") from error
        destination.connect()
        try:
            yield destination
        finally:
            destination.disconnect()

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return JsonConverter()

    def size_in_bytes(self, entry: Entry) -> int:
        return len(entry.payload)

    def key_of(self, entry: Entry) -> Hashable | None:
        return entry.key

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        return await client.model.handle(entries, 1, None)


@asynccontextmanager
async def reference_destination() -> AsyncIterator[InProcessDestination]:
    with InProcessDestination.opened(lambda entry: entry.payload) as destination:
        yield destination


@contextmanager
def registered(name: str, sink: str, options: str = f"{__name__}:ReferenceOptions") -> Iterator[None]:
    """Make a sink and its options known by their import paths, as a connector of this program."""

    class Plugin:
        @hookimpl
        def asyncsink_connector(self) -> ConnectorInfo:
            return ConnectorInfo(name, sink, options, api_version=1)

    register(Plugin(), name)
    try:
        yield
    finally:
        unregister(name)


def subject_of(
    connector: str,
    *,
    capabilities: Capabilities = CAPABILITIES,
    open_destination: Callable[[], AbstractAsyncContextManager[Any]] = reference_destination,
) -> Subject:
    """What the checks are told of the reference connector, or of one that is made of it."""
    return Subject(
        connector=connector,
        capabilities=capabilities,
        options={"endpoint": "{endpoint}", "token": "parrot-secret"},
        open_destination=open_destination,
        tuning=TUNING,
        element=lambda row: row,
        row=json.loads,
        in_process=True,
    )
