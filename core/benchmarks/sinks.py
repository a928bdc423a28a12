"""Sinks that do nothing: what is timed is the writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from asyncsink import (
    AsyncSink,
    ConnectorOptions,
    ElementConverter,
    InitContext,
    RequestEntries,
    RequestResult,
    Schema,
    WriteContext,
)


class AsTheyAre(ElementConverter[bytes, bytes]):
    def apply(self, element: bytes, context: WriteContext) -> bytes:
        return element


class AsTheyAreInBulk(AsTheyAre):
    def apply_many(self, elements: Sequence[bytes], context: WriteContext) -> list[bytes]:
        return list(elements)


@dataclass(frozen=True, kw_only=True)
class NoOptions(ConnectorOptions):
    """Nothing to choose."""


class NoOpSink(AsyncSink[bytes, bytes, None]):
    """Stores each request whole, at once: as Flink's peer does, whose answer waits in the mailbox meanwhile; ours is
    given by the task that sends, in its next turn.
    """

    options_type = NoOptions

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[None]:
        yield None

    def converter(self, schema: Schema | None) -> ElementConverter[bytes, bytes]:
        return AsTheyAre()

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry)

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: None) -> RequestResult:
        return RequestResult.OK


class TurnSink(NoOpSink):
    """Takes another turn of the event loop for each request."""

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: None) -> RequestResult:
        await asyncio.sleep(0)
        return RequestResult.OK


class BulkSink(NoOpSink):
    """Converts and measures many at once."""

    def converter(self, schema: Schema | None) -> ElementConverter[bytes, bytes]:
        return AsTheyAreInBulk()

    def sizes(self, entries: Sequence[bytes]) -> Sequence[int]:
        return list(map(len, entries))


class RoutedSink(NoOpSink):
    """Routes entries, which blocks that bring their routes never ask for."""

    def route_of(self, entry: bytes) -> Hashable | None:
        return entry[:1]
