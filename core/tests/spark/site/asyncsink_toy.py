"""A connector for the tests of the Spark hooks: it writes to files what requests would carry."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from asyncsink.async_sink import AsyncSink
from asyncsink.context import InitContext, Schema, WriteContext, idempotency_prefix
from asyncsink.converter import ElementConverter
from asyncsink.errors import SchemaError
from asyncsink.options import ConnectorOptions, option
from asyncsink.plugins import ConnectorInfo, hookimpl
from asyncsink.request import RequestEntries, RequestResult


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo("toy", "asyncsink_toy:ToySink", "asyncsink_toy:ToyOptions", api_version=1)


@dataclass(frozen=True, kw_only=True)
class ToyOptions(ConnectorOptions):
    folder: str = option(doc="Where each process keeps a log of what it does.")
    bug: Literal["none", "planning", "request", "exit"] = option("none", doc="Where the connector has one.")


class ToyConverter(ElementConverter[Mapping[str, Any], str]):
    """Makes ``<idempotency id>=<column id>`` of a row."""

    def __init__(self, schema: Schema | None) -> None:
        column = schema.find("id") if schema else None
        if schema is not None and column is None:
            raise SchemaError(f"column 'id' is missing; found are {', '.join(schema.names)}: add it by withColumn")
        if column is not None and column.type != "bigint":
            raise SchemaError(f"column 'id' is of type {column.type}; it must be bigint: cast it")

    def open(self, context: InitContext) -> None:
        self._prefix = idempotency_prefix(context)

    def apply(self, element: Mapping[str, Any], context: WriteContext) -> str:
        return f"{self._prefix}{context.sequence}={element['id']}"


class ToySink(AsyncSink[Mapping[str, Any], str, Path]):
    options_type: ClassVar[type[ToyOptions]] = ToyOptions

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[Path]:
        log = Path(self.options.folder, f"{os.getpid()}.log")
        note(log, {"connect": os.getpid()})
        yield log

    def converter(self, schema: Schema | None) -> ToyConverter:
        if self.options.bug == "planning":
            raise KeyError("first line\nsecond line")
        return ToyConverter(schema)

    def size_in_bytes(self, entry: str) -> int:
        return len(entry)

    async def submit_request_entries(self, entries: RequestEntries[str], client: Path) -> RequestResult:
        if self.options.bug == "request":
            raise KeyError("no such field")
        if self.options.bug == "exit":
            raise SystemExit("the client called sys.exit")
        note(client, {"rows": list(entries)})
        return RequestResult.OK


def note(log: Path, line: Mapping[str, Any]) -> None:
    with log.open("a") as file:
        file.write(f"{json.dumps(line)}\n")
