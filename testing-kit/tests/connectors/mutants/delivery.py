"""Mutants whose rows do not arrive, arrive changed or arrive too late."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reference import Entry, ReferenceSink

from asyncsink import ElementConverter, InitContext, RequestEntries, RequestResult, Schema, WriteContext
from asyncsink_testing import InProcessDestination
from mutants import Wrapped, mutant


class Ascii(ElementConverter[Mapping[str, Any], Entry]):
    def apply(self, element: Mapping[str, Any], context: WriteContext) -> Entry:
        text = json.dumps(element, ensure_ascii=False).encode("ascii", "replace")
        return Entry(text, element["key"])


@mutant(fails=["payload-intact", "record-limit"])
class LosesCharacters(ReferenceSink):
    """It encodes text in a character set that lacks most characters."""

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return Ascii()


class _FlushesLater(Wrapped):
    async def flush(self, end_of_input: bool = False) -> None:
        await self.writer.flush(False)


@mutant(fails=["flush-waits"])
class FlushReturnsEarly(ReferenceSink):
    """Its ``flush(end_of_input=True)`` waits for what is in flight and not for what is buffered."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _FlushesLater(super().create_writer(context, states))


@mutant(
    fails=[
        "delivers-all",
        "payload-intact",
        "flush-waits",
        "answer-lost",
        "partial-failure",
        "batch-entries-limit",
        "batch-size-option",
        "batch-bytes-limit",
        "record-limit",
        "in-flight-limit",
        "in-flight-used",
        "loop-not-blocked",
        "backpressure",
        "byte-backpressure",
        "single-file-order",
        "key-order",
        "key-order-under-faults",
    ]
)
class DropsAll(ReferenceSink):
    """It sends nothing and says that all is stored."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        return RequestResult.OK
