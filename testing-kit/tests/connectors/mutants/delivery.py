"""Mutants whose rows do not arrive, arrive changed or arrive too late."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
from reference import Entry, ReferenceSink

from asyncsink import ElementConverter, InitContext, RequestEntries, RequestResult, Schema, WriteContext
from asyncsink.writer import AsyncSinkWriter
from asyncsink_testing import InProcessDestination
from mutants import Chosen, Wrapped, mutant


class Ascii(ElementConverter[Mapping[str, Any], Entry]):
    def apply(self, element: Mapping[str, Any], context: WriteContext) -> Entry:
        text = json.dumps(element, ensure_ascii=False).encode("ascii", "replace")
        return Entry(text, element["key"])


@mutant(fails=["payload-intact", "record-limit", "batch-bytes-limit"])
class LosesCharacters(ReferenceSink):
    """It encodes text in a character set that lacks most characters."""

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return Ascii()


class Trimming(ElementConverter[Mapping[str, Any], Entry]):
    def apply(self, element: Mapping[str, Any], context: WriteContext) -> Entry:
        text = json.dumps({**element, "text": element["text"].strip()})
        return Entry(text.encode(), element["key"])


@mutant(fails=["payload-intact"])
class TrimsText(ReferenceSink):
    """It takes the blanks and line breaks off both ends of a text."""

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return Trimming()


class _FlushesLater(Wrapped):
    async def flush(self, end_of_input: bool = False) -> None:
        await self.writer.flush(False)


@mutant(fails=["flush-waits", "statistics-add-up", "every-short-script", "long-scripts"])
class FlushReturnsEarly(ReferenceSink):
    """Its ``flush(end_of_input=True)`` waits for what is in flight and not for what is buffered."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _FlushesLater(super().create_writer(context, states))


class _FlushesBriefly(Wrapped):
    async def flush(self, end_of_input: bool = False) -> None:
        with anyio.move_on_after(0.08):
            await self.writer.flush(end_of_input)


@mutant(fails=["flush-waits", "long-scripts"])
class FlushRunsOutOfTime(ReferenceSink):
    """Its flush has a deadline, and does not ask whether that is over."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _FlushesBriefly(super().create_writer(context, states))


@mutant(
    fails=[
        "age-timer",
        "answer-cut",
        "answer-lost",
        "backpressure",
        "batch-bytes-limit",
        "batch-entries-limit",
        "batch-size-option",
        "byte-backpressure",
        "cancel-in-flight",
        "close-twice",
        "connections-given-back",
        "delivers-all",
        "delivers-under-load",
        "disconnected",
        "equal-rows",
        "every-short-script",
        "fatal-stops",
        "flush-waits",
        "hanging",
        "hanging-stored",
        "in-flight-limit",
        "in-flight-used",
        "key-order",
        "key-order-under-faults",
        "long-scripts",
        "loop-not-blocked",
        "many-writers",
        "no-task-left",
        "options-by-any-spelling",
        "outage",
        "partial-failure",
        "partial-throttled",
        "payload-intact",
        "poison-dropped",
        "poison-fails",
        "record-limit",
        "reopen-after-failure",
        "repeats-keep-their-id",
        "retry-after",
        "single-file-order",
        "slow-answer",
        "snapshot-restore",
        "statistics-add-up",
        "throttled",
        "two-event-loops",
        "unavailable",
    ]
)
class DropsAll(ReferenceSink):
    """It sends nothing and says that all is stored."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        return RequestResult.OK


@mutant(
    fails=[
        "age-timer",
        "backpressure",
        "batch-bytes-limit",
        "byte-backpressure",
        "cancel-in-flight",
        "delivers-all",
        "equal-rows",
        "every-short-script",
        "flush-waits",
        "long-scripts",
        "payload-intact",
        "record-limit",
        "snapshot-restore",
    ]
)
class ForgetsTheTail(ReferenceSink):
    """It waits for full batches, and leaves without what does not fill one."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _SendsFullBatches(super().create_writer(context, states), self.config.max_batch_size)


class _SendsFullBatches(Wrapped):
    def __init__(self, writer: Any, batch: int) -> None:
        super().__init__(writer)
        self._batch = batch
        self._waiting: list[tuple[Any, WriteContext | None]] = []

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        self._waiting.append((element, context))
        if len(self._waiting) == self._batch:
            while self._waiting:
                await self.writer.write(*self._waiting.pop(0))


@mutant(fails=["delivers-all"])
class PutsLoneRowsIfAbsent(ReferenceSink):
    """It sends a lone row by another call than many, which stores nothing where the key is there already.

    Once an entry has failed it uses the call for many, so that this shows where nothing fails.
    """

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self.keys: set[str] = set()
        self.failed = False

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        if len(entries) == 1 and entries[0].key in self.keys and not self.failed:
            return RequestResult.OK
        result = await super().submit_request_entries(entries, client)
        self.keys.update(entry.key for entry in entries)
        self.failed = self.failed or bool(result.failed)
        return result


@mutant(fails=["delivers-all", "equal-rows", "partial-failure", "partial-throttled", "single-file-order"])
class KeepsOneOfAKey(ReferenceSink):
    """It makes a request of a dictionary by key, in which a row takes the place of another."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        places = {entry.key: index for index, entry in enumerate(entries)}
        result = await super().submit_request_entries(Chosen(entries, [*places.values()]), client)
        return RequestResult({[*places.values()][index]: failure for index, failure in result.failed.items()})


@mutant(fails=["equal-rows"])
class SendsEqualRowsOnce(ReferenceSink):
    """It makes a set of the entries of a request, and one of two equal ones is lost."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        first = {entry: index for index, entry in reversed(list(enumerate(entries)))}
        places = sorted(first.values())
        result = await super().submit_request_entries(Chosen(entries, places), client)
        return RequestResult({places[index]: failure for index, failure in result.failed.items()})


@mutant(fails=["delivers-under-load"])
class SharesItsBuffers(ReferenceSink):
    """It encodes requests into eight buffers in turn, and has more requests than that under way."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        number = next(self.numbers) % 8
        self.buffers[number] = entries
        await anyio.sleep(0.001)
        return await super().submit_request_entries(self.buffers[number], client)

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self.buffers: dict[int, RequestEntries[Entry]] = {}
        self.numbers = itertools.count()


class _MarksEmptiness(Wrapped):
    async def __aexit__(self, *error: Any) -> Any:
        told = self.writer.statistics()
        if error[0] is None and told.accepted + told.restored == 0:
            await self.writer.write({"id": -1, "key": "empty", "text": ""})
        return await self.writer.__aexit__(*error)


@mutant(fails=["nothing-written"])
class MarksEmptyPartitions(ReferenceSink):
    """It writes a marker where there was nothing to write."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _MarksEmptiness(super().create_writer(context, states))


@mutant(fails=["age-timer"])
class HoldsRowsBack(ReferenceSink):
    """Its timer counts in another unit than ``maxTimeInBuffer`` is given in, so that a lone row lies about."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        held = replace(self.config, max_time_in_buffer_s=120 * self.config.max_time_in_buffer_s)
        return AsyncSinkWriter(self, context, held, states)


class _CountsSendings(Wrapped):
    def statistics(self) -> Any:
        told = self.writer.statistics()
        return replace(told, acknowledged=told.acknowledged + told.retried_entries)


@mutant(fails=["statistics-add-up"])
class CountsWhatItSends(ReferenceSink):
    """It counts an entry as acknowledged each time it is sent."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _CountsSendings(super().create_writer(context, states))


class Floating(ElementConverter[Mapping[str, Any], Entry]):
    def apply(self, element: Mapping[str, Any], context: WriteContext) -> Entry:
        return Entry(json.dumps({**element, "id": int(float(element["id"]))}).encode(), element["key"])


@mutant(fails=["payload-intact"])
class CountsInFloats(ReferenceSink):
    """Its numbers are floats on their way, which lose the last digits of large ones."""

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return Floating()


class AsciiKeys(ElementConverter[Mapping[str, Any], Entry]):
    def apply(self, element: Mapping[str, Any], context: WriteContext) -> Entry:
        key = element["key"].encode("ascii", "replace").decode()
        return Entry(json.dumps({**element, "key": key}).encode(), key)


@mutant(fails=["payload-intact"])
class LosesCharactersOfKeys(ReferenceSink):
    """Its keys are text of another character set than the rest."""

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return AsciiKeys()
