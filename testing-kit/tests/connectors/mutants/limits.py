"""Mutants that send too much at once, or too little, or that keep too much."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import anyio
from reference import MAX_BATCH_BYTES, Entry, ReferenceSink

from asyncsink import AsyncSinkWriterConfig, InitContext, RequestEntries, RequestResult
from asyncsink.errors import WouldBlock
from asyncsink_testing import InProcessDestination
from asyncsink_testing.faults import SLOW_S
from mutants import Wrapped, mutant


class _Stubborn(ReferenceSink):
    """A sink that sets something of its writer's configuration whatever the user says."""

    own: ClassVar[Mapping[str, Any]]

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        sink = super().from_options(options)
        return cls(sink.options, config=replace(sink.config, **cls.own))


@mutant(fails=["batch-entries-limit"])
class KnowsNoBatchLimit(ReferenceSink):
    """It does not say how many entries the service takes, so that the kernel's default holds."""

    defaults: ClassVar[AsyncSinkWriterConfig] = replace(ReferenceSink.defaults, max_batch_size=500)


@mutant(fails=["batch-size-option", "backpressure"])
class IgnoresBatchSize(_Stubborn):
    """It sends what the service takes, whatever batch size the user gives."""

    own: ClassVar[Mapping[str, Any]] = {"max_batch_size": 10}


@mutant(fails=["batch-size-option", "retry-after"])
class SendsOneByOne(_Stubborn):
    """It makes a request of each row."""

    own: ClassVar[Mapping[str, Any]] = {"max_batch_size": 1}


@mutant(fails=["batch-bytes-limit"])
class KnowsNoByteLimit(ReferenceSink):
    """It does not say how many bytes the service takes in a request."""

    defaults: ClassVar[AsyncSinkWriterConfig] = replace(ReferenceSink.defaults, max_batch_size_in_bytes=5_000_000)


@mutant(fails=["record-limit"])
class KnowsNoRecordLimit(ReferenceSink):
    """It does not say how many bytes the service takes in an entry."""

    defaults: ClassVar[AsyncSinkWriterConfig] = replace(
        ReferenceSink.defaults, max_record_size_in_bytes=MAX_BATCH_BYTES
    )


@mutant(fails=["batch-bytes-limit", "record-limit", "byte-backpressure"])
class MeasuresKeys(ReferenceSink):
    """Its size of an entry is that of the key, so that no limit in bytes holds."""

    def size_in_bytes(self, entry: Entry) -> int:
        return len(entry.key)


@mutant(fails=["batch-bytes-limit", "record-limit"])
class CountsCharacters(ReferenceSink):
    """Its size of an entry counts the characters of the text, which are fewer than its bytes."""

    def size_in_bytes(self, entry: Entry) -> int:
        return len(entry.payload.decode("unicode-escape"))


@mutant(fails=["in-flight-limit", "backpressure", "single-file-order"])
class IgnoresInFlightLimit(_Stubborn):
    """It has as many requests under way as it likes."""

    own: ClassVar[Mapping[str, Any]] = {"max_in_flight_requests": 50}


@mutant(fails=["in-flight-limit"])
class LimitsEachOfTwoConnections(ReferenceSink):
    """It has two connections if it may, and on each as many requests under way as are allowed in all."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        sink = super().from_options(options)
        allowed = sink.config.max_in_flight_requests
        in_flight = 2 * allowed if allowed > 1 else 1
        return cls(sink.options, config=replace(sink.config, max_in_flight_requests=in_flight))


@mutant(fails=["in-flight-used"])
class OneRequestAtATime(ReferenceSink):
    """It holds a lock around each request, as for a client that is not made for several."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self._lock = anyio.Lock()

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        async with self._lock:
            return await super().submit_request_entries(entries, client)


@mutant(fails=["loop-not-blocked"])
class BlocksTheLoop(ReferenceSink):
    """It waits for a slow answer as a synchronous client does: nothing else in the event loop goes on."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        began_s = anyio.current_time()
        result = await super().submit_request_entries(entries, client)
        if anyio.current_time() - began_s > SLOW_S / 2:
            # Of the wall, as no virtual time passes meanwhile.
            time.sleep(0.08)  # noqa: ASYNC251 -- that is the bug
        return result


class _Overflowing(Wrapped):
    """Keeps what the writer has no room for, until it is flushed."""

    def __init__(self, writer: Any) -> None:
        super().__init__(writer)
        self.spare: list[Any] = []

    async def write(self, element: Any, context: Any = None) -> None:
        if not self.spare:
            try:
                self.writer.write_nowait(element)
                return
            except WouldBlock:
                pass  # the bug: the caller ought to wait
        self.spare.append(element)

    async def flush(self, end_of_input: bool = False) -> None:
        while self.spare:
            await self.writer.write(self.spare[0])
            del self.spare[0]
        await self.writer.flush(end_of_input)

    async def __aexit__(self, *error: Any) -> Any:
        try:
            if error[0] is None and self.spare:
                await self.flush(True)
        except BaseException as raised:
            await super().__aexit__(type(raised), raised, None)
            raise
        return await super().__aexit__(*error)


@mutant(fails=["backpressure", "byte-backpressure", "cancel-in-flight"])
class KeepsWhatDoesNotFit(ReferenceSink):
    """Its ``write`` never waits: it keeps rows in a list of its own while the writer is full."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _Overflowing(super().create_writer(context, states))


@mutant(fails=["backpressure"])
class IgnoresBufferedRequests(_Stubborn):
    """Its buffer holds any number of rows."""

    own: ClassVar[Mapping[str, Any]] = {"max_buffered_requests": 1_000_000}


@mutant(fails=["byte-backpressure"])
class IgnoresBufferedBytes(_Stubborn):
    """Its buffer holds any number of bytes."""

    own: ClassVar[Mapping[str, Any]] = {"max_buffered_size_in_bytes": 1_000_000_000}
