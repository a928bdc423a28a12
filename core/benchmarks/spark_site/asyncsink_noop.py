"""A connector that stores nothing, at once: what is timed through it are Spark, the hooks and the writer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from asyncsink.async_sink import AsyncSink
from asyncsink.committer import Committer
from asyncsink.context import InitContext, Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import SchemaError
from asyncsink.options import ConnectorOptions, option
from asyncsink.plugins import ConnectorInfo, hookimpl
from asyncsink.request import RequestEntries, RequestResult
from asyncsink.serializer import BytesSerializer


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo("noop", "asyncsink_noop:NoOpSink", "asyncsink_noop:NoOptions", api_version=1)


@dataclass(frozen=True, kw_only=True)
class NoOptions(ConnectorOptions):
    commits: bool = option(False, doc="Whether each batch is committed in two phases, by a committer of no work.")


class ValueColumn(ElementConverter[Any, bytes]):
    """Takes the column `value`, binary or string, as it is."""

    def apply(self, element: Any, context: WriteContext) -> bytes:
        value = element["value"]
        return value.encode() if isinstance(value, str) else bytes(value)

    def apply_batch(self, batch: Any, context: WriteContext) -> Any:
        # Not above: Spark imports this module on the driver's side too, where Arrow is not needed.
        from asyncsink.arrow import ArrowBlock

        return ArrowBlock.of_column(batch, "value")


class NoOpCommitter(Committer[bytes]):
    """Has nothing to commit: what is timed is how that is decided and remembered."""

    async def commit(self, committables: Sequence[bytes]) -> list[bytes]:
        return []


class NoOpSink(AsyncSink[Any, bytes, None]):
    """Has the limits that every sink has by default, and answers each request at once."""

    options_type = NoOptions
    committable_serializer: Any = BytesSerializer()

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[None]:
        yield None

    def converter(self, schema: Schema | None) -> ValueColumn:
        if schema is not None and schema.find("value") is None:
            raise SchemaError(f"column 'value' is missing; found are {', '.join(schema.names)}: rename one to it")
        return ValueColumn()

    def create_committer(self) -> Any:
        return NoOpCommitter() if self.options.commits else None

    def size_in_bytes(self, entry: bytes) -> int:
        return len(entry)

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: None) -> RequestResult:
        return RequestResult.OK
