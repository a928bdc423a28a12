"""A connector over HTTP for the checks through Spark, whose workers reach no destination in process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import anyio
from reference import CAPABILITIES

from asyncsink import (
    AsyncSink,
    ConnectorOptions,
    ElementConverter,
    ErrorTable,
    InitContext,
    RequestEntries,
    RequestError,
    RequestResult,
    Schema,
    WriteContext,
    option,
)
from asyncsink_testing import HttpDestination, HttpRequest, Received
from asyncsink_testing.conformance import Subject
from asyncsink_testing.conformance.trial import TUNING

WIRE_CAPABILITIES = replace(CAPABILITIES, idempotent=True, partial_failure=False, ordering="none")


@dataclass(frozen=True, kw_only=True)
class WireOptions(ConnectorOptions):
    """Where the destination is."""

    url: str = option(doc="Address of the destination.")


class WireConverter(ElementConverter[Mapping[str, Any], bytes]):
    """A row as JSON, with an id by which the destination drops repetitions."""

    def open(self, context: InitContext) -> None:
        self.prefix = self.prefix_of(context)

    def prefix_of(self, context: InitContext) -> str:
        """What tells this writer's rows from those of all others, and is the same when its task is repeated."""
        return f"{context.query_id}/{context.batch_id}/{context.writer_id}"

    def apply(self, element: Mapping[str, Any], context: WriteContext) -> bytes:
        return json.dumps({**element, "uid": f"{self.prefix}/{context.sequence}"}, default=str).encode()


class WireSink(AsyncSink[Mapping[str, Any], bytes, Any]):
    """Posts lines of JSON, each request over a connection of its own."""

    options_type: ClassVar[type[ConnectorOptions]] = WireOptions
    errors: ClassVar[ErrorTable] = ErrorTable.of(retryable=["503"], fatal={"401": "Ask for permission."})
    converter_type: ClassVar[type[WireConverter]] = WireConverter

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[Any]:
        return self._connected()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        yield None

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], bytes]:
        return self.converter_type()

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry)

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: Any) -> RequestResult:
        status = await self.post(b"\n".join(entries))
        if status != 200:
            raise RequestError(str(status))
        return RequestResult.OK

    async def post(self, body: bytes) -> int:
        """The status that the destination answers."""
        host, _, port = self.options.url.removeprefix("http://").partition(":")
        head = f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(head.encode() + body)
            return int((await stream.receive()).split()[1])


class DroppingRepetitions(HttpDestination):
    """Stores each id once, whatever comes with it the next time."""

    async def received(self) -> Sequence[Received]:
        first = {json.loads(each.payload)["uid"]: each for each in reversed(await super().received())}
        return list(reversed(first.values()))


def lines_of(request: HttpRequest) -> Sequence[bytes]:
    return request.body.split(b"\n")


def wire_subject(connector: str) -> Subject:
    """What the checks are told of a connector that is made of this one."""
    return Subject(
        connector=connector,
        capabilities=WIRE_CAPABILITIES,
        options={"url": "{endpoint}"},
        open_destination=lambda: DroppingRepetitions.opened(lines_of),
        tuning=TUNING,
        element=lambda row: row,
        row=json.loads,
        in_process=False,
        spark_wrong_columns=lambda frame: frame.selectExpr("*", "INTERVAL '1' DAY AS unfit"),
    )
