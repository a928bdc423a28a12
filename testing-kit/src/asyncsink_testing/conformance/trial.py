"""What a check is handed: one destination, the means to send rows to it, and what it may know of the connector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import anyio

from asyncsink.context import WriterInitContext
from asyncsink.errors import AsyncSinkError
from asyncsink.plugins import load_sink
from asyncsink.sink import Sink, SinkWriter
from asyncsink_testing.conformance.capabilities import Capabilities
from asyncsink_testing.conformance.check import ConformanceError
from asyncsink_testing.conformance.committing_writer import CommittingWriter
from asyncsink_testing.conformance.delivery import Delivery
from asyncsink_testing.conformance.destination import Destination
from asyncsink_testing.conformance.watching import until
from asyncsink_testing.faults import Fault, Step

if TYPE_CHECKING:
    from asyncsink.state import BufferedRequestState

_MOMENT_S, _POLL_S, _ARRIVE_S = 0.2, 0.002, 5.0

Row = dict[str, Any]
OpenDestination = Callable[[], AbstractAsyncContextManager[Destination]]

BATCH = 4
"""Entries a request, unless the service takes fewer: small, so that few rows make many requests."""

TUNING: Mapping[str, str] = {
    "maxInFlightRequests": "3",
    "maxBufferedRequests": "40",
    "maxTimeInBuffer": "50ms",
    "requestTimeout": "10s",
    "retry.initialBackoff": "1ms",
    "retry.maxBackoff": "20ms",
    "retry.timeout": "20s",
    "rateLimit": "none",
}
"""Options by which retries and the age timer come within milliseconds.

Where nothing hangs, a service or a machine that is slow for a moment must not look as if something did: a request that
is given up although it is answered doubles its rows.
"""

_HANGING_TIMEOUT = "1s"


@dataclass(frozen=True, slots=True)
class Subject:
    """The connector under test, as its author describes it.

    :param options: what a user would give Spark; ``{endpoint}`` in a value is the destination's, and so is ``{name}``
        for each of its ``names``, if it has some
    :param tuning: the writer's options that make a check quick
    :param element: the element that a converter takes, made of a row with ``id``, ``key`` and ``text``
    :param row: the row that a payload in the destination stands for, the reverse of `element`
    :param spark_columns: the DataFrame that Spark writes, made of one with ``id``, ``key`` and ``text``
    :param spark_wrong_columns: one that must be refused, made of what `spark_columns` gave; None if there is none
    """

    connector: str
    capabilities: Capabilities
    options: Mapping[str, str]
    open_destination: OpenDestination
    tuning: Mapping[str, str]
    element: Callable[[Row], Any]
    row: Callable[[Any], Mapping[str, Any]]
    in_process: bool
    spark_columns: Callable[[Any], Any] = lambda frame: frame
    spark_wrong_columns: Callable[[Any], Any] = lambda frame: None


@dataclass(frozen=True, slots=True)
class Trial:
    """One check's view of the connector and of a destination that holds nothing yet."""

    subject: Subject
    destination: Destination
    # Finding a connector reads the metadata of every distribution: 7 ms, too long for each of a thousand scripts.
    _loaded: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def capabilities(self) -> Capabilities:
        return self.subject.capabilities

    @property
    def batch(self) -> int:
        """The entries of a full request under these options."""
        return min(BATCH, self.capabilities.max_batch_entries or BATCH)

    @property
    def never_twice(self) -> bool:
        """Whether lost answers excuse no row that stands there twice."""
        told = self.capabilities
        return told.idempotent or told.commits or told.guarantee == "exactly-once"

    @property
    def hands_on(self) -> bool:
        """Whether a writer that ends early leaves to a successor what it has not delivered.

        What the writer of a connector that commits leaves so belongs to an attempt that is given up.
        """
        return self.capabilities.keeps_state is True and not self.capabilities.commits

    @property
    def partitions(self) -> int:
        """Of how many partitions a batch is under way at once; 1 where the service has none."""
        return int(getattr(self.destination, "partitions", 1))

    @property
    def servers(self) -> int | None:
        """How many take requests, where each takes one of a connector at a time."""
        found: int | None = getattr(self.destination, "servers", None)
        return found

    def fail(self, message: str) -> NoReturn:
        """End the check: the connector breaks its rule.

        :raises ConformanceError: always
        """
        raise ConformanceError(message)

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Trial]:
        """The same with another destination that holds nothing."""
        async with self.subject.open_destination() as destination:
            yield replace(self, destination=destination)

    # ---- rows ------------------------------------------------------------------------------------------------

    def rows(self, count: int, *, first: int = 0, keys: int = 0, text: str | None = None) -> list[Row]:
        """So many rows with numbers of their own; with `keys` they have that many keys, in turn.

        :param text: that of every row; by default each has its own, so that one that gets another's can be told
        """
        numbers = range(first, first + count)
        texts = [f"text {n}" if text is None else text for n in numbers]
        keyed = [f"key-{n % keys}" if keys else f"key-{n}" for n in numbers]
        return [{"id": n, "key": key, "text": of} for n, key, of in zip(numbers, keyed, texts, strict=True)]

    def elements(self, rows: Iterable[Row]) -> list[Any]:
        return [self.subject.element(row) for row in rows]

    def id_of(self, payload: Any) -> int:
        """The number of the row that a payload stands for."""
        return int(self.subject.row(payload)["id"])

    # ---- the sink --------------------------------------------------------------------------------------------

    def options(self, extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """The options by which the connector sends to this trial's destination.

        :param extra: further options; None leaves an option at the connector's own value
        """
        own = {name: self._filled(value) for name, value in self.subject.options.items()}
        options = {**self.subject.tuning, "maxBatchSize": str(self.batch), **own, **(extra or {})}
        return {name: value for name, value in options.items() if value is not None}

    def _filled(self, value: str) -> str:
        names = {"endpoint": self.destination.endpoint, **getattr(self.destination, "names", {})}
        for name, told in names.items():
            value = value.replace(f"{{{name}}}", told)
        return value

    @property
    def hanging_options(self) -> dict[str, str | None]:
        """Options by which a request that hangs is given up soon; none where the author has set a time of their own."""
        untouched = self.subject.tuning.get("requestTimeout") == TUNING["requestTimeout"]
        return {"requestTimeout": _HANGING_TIMEOUT} if untouched else {}

    def sink(self, extra: Mapping[str, str | None] | None = None) -> Sink[Any, Any, Any, Any]:
        """The connector's sink, found by its name and made of strings, as Spark does."""
        connector = self.subject.connector
        if connector not in self._loaded:
            self._loaded[connector] = load_sink(connector)
        kind = self._loaded[connector]
        sink: Sink[Any, Any, Any, Any] = kind.from_options(self.options(extra))
        return sink

    def writer(
        self, extra: Mapping[str, str | None] | None = None, states: Sequence[BufferedRequestState[Any]] = ()
    ) -> SinkWriter[Any, Any, Any]:
        """A writer of that sink, not entered yet."""
        return self.writer_of(self.sink(extra), states=states)

    def writer_of(
        self, sink: Sink[Any, Any, Any, Any], context: WriterInitContext | None = None, states: Sequence[Any] = ()
    ) -> SinkWriter[Any, Any, Any]:
        """A writer of `sink`, not entered yet; where the connector commits, whoever flushes or leaves it commits."""
        context = context or WriterInitContext()
        if self.capabilities.commits:
            return CommittingWriter(sink, context, states)
        return sink.create_writer(context, states)

    # ---- sending ---------------------------------------------------------------------------------------------

    async def deliver(
        self,
        rows: Sequence[Row],
        steps: Iterable[Step | Fault] = (),
        *,
        then: Step | Fault = Fault.OK,
        extra: Mapping[str, str | None] | None = None,
    ) -> Delivery:
        """Write the rows one by one while the destination goes by `steps`, leave the writer, and see what arrived.

        An error of the writer does not leave this method: it stands in the result.
        """
        self.destination.script(steps, then)
        writer, written, error = self.writer(extra), 0, None
        try:
            async with writer:
                for element in self.elements(rows):
                    await writer.write(element)
                    written += 1
        except AsyncSinkError as raised:
            error = raised
        return await self.seen(rows[:written], writer, error)

    async def write(self, writer: SinkWriter[Any, Any, Any], rows: Iterable[Row]) -> None:
        """Write rows one by one."""
        for element in self.elements(rows):
            await writer.write(element)

    async def hand_over_again(self, writer: SinkWriter[Any, Any, Any], rows: Iterable[Row]) -> None:
        """Write those rows that do not stand in the destination; none where states keep them."""
        if self.capabilities.keeps_state is not True:
            stored = {self.id_of(each.payload) for each in await self.destination.received()}
            await self.write(writer, (row for row in rows if row["id"] not in stored))

    async def requests_arrived(self, count: int) -> None:
        """Wait until so many requests have arrived; a moment where the destination does not show them.

        :raises ConformanceError: they do not come
        """
        if self.destination.requests is None:
            await anyio.sleep(_MOMENT_S)
            return
        if not await until(lambda: len(self.destination.requests or ()) >= count, _ARRIVE_S):
            self.fail(
                f"no more than {len(self.destination.requests or ())} of {count} requests have arrived, though full "
                "batches were written: look for rows that are dropped or held back before a request is made of them"
            )

    async def entries_arrive(self, count: int, within_s: float = 5.0) -> bool:
        """Whether so many entries come to stand in the destination within this time; returns as soon as they do."""
        with anyio.move_on_after(within_s):
            while True:
                if len(await self.destination.received()) >= count:
                    return True
                await anyio.sleep(_POLL_S)
        return False

    async def seen(
        self, rows: Sequence[Row], writer: SinkWriter[Any, Any, Any] | None = None, error: AsyncSinkError | None = None
    ) -> Delivery:
        """What has become of `rows`, by what stands in the destination now."""
        requests = self.destination.requests
        return Delivery(
            rows=tuple(rows),
            received=tuple(self.subject.row(each.payload) for each in await self.destination.received()),
            requests=None if requests is None else tuple(requests),
            id_of=self.id_of,
            never_twice=self.never_twice,
            writer=writer,
            error=error,
        )
