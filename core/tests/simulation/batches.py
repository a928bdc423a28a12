"""Record batches of the smallest kind, and sinks that take them whole and answer in odd ways."""

from __future__ import annotations

from random import Random
from typing import Any

from asyncsink import (
    AsyncSink,
    ElementConverter,
    Failure,
    FailureKind,
    ListBlock,
    RequestEntries,
    RequestError,
    RequestResult,
    Schema,
    WriteContext,
)
from asyncsink_testing import FakeClient, FakeSink, IdentityConverter
from asyncsink_testing import destination as codes


class Batch(list[Any]):
    """Elements in a row, with what the writer asks of an Arrow batch."""

    def slice(self, offset: int, length: int) -> Batch:
        return Batch(self[offset : offset + length])

    def to_pylist(self) -> list[Any]:
        return list(self)


class BatchConverter(IdentityConverter):
    """Converts a batch to a block, unless one of its elements is broken."""

    def apply_batch(self, batch: Batch, context: WriteContext) -> ListBlock[Any]:
        entries = [self.apply(element, context) for element in batch]
        routes = list(dict.fromkeys(entry.route for entry in entries))
        indices = [routes.index(entry.route) for entry in entries]
        keys = [entry.key for entry in entries]
        return ListBlock(entries, [entry.size for entry in entries], keys, (routes, indices))


class SimulatedSink(FakeSink):
    """A sink over the model of a destination.

    :ivar batches: whether its converter takes batches
    :ivar odd: the share of answers that come in another form than they should, or with unknown codes
    :ivar random: what is drawn for these
    """

    batches = False
    odd = 0.0
    random = Random(0)

    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return BatchConverter() if self.batches else IdentityConverter()

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        is_odd = self.random.random() < self.odd
        if is_odd and entries.block[0] != entries[0]:
            raise RuntimeError("the block and the sequence of a request differ")
        try:
            result = await super().submit_request_entries(entries, client)
        except RequestError as error:
            if is_odd and error.code == codes.FORBIDDEN:
                return self._odd_end(len(entries))
            raise
        return RequestResult(self._odd_failures(entries, result)) if is_odd else result

    def _odd_end(self, count: int) -> RequestResult:
        """An answer that ends the writer like any fatal one."""
        match self.random.randrange(4):
            case 0:
                raise RequestError("NeverHeardOf", "what is this")
            case 1:
                raise ZeroDivisionError("a bug of the connector")
            case 2:
                wrong: Any = "stored"
                return wrong  # type: ignore[no-any-return]
        return RequestResult({count: Failure(codes.INTERNAL)})

    def _odd_failures(self, entries: RequestEntries[Any], result: RequestResult) -> dict[int, Failure]:
        """The same failures under unknown codes, or with entries made anew, which are equal to the old ones."""
        found = dict(result.failed)
        for index, failure in result.failed.items():
            if failure.code == codes.INTERNAL:
                found[index] = Failure(f"Strange{index}", replacement=entries[index])
            elif failure.code == codes.THROTTLED:
                found[index] = Failure("Slow", kind=FailureKind.THROTTLED, retry_after_s=failure.retry_after_s)
        return found


class AtomicSimulatedSink(SimulatedSink):
    atomic_requests = True


class UnroutedSink(SimulatedSink):
    """One that does not even ask for routes, as most sinks do not."""

    route_of = AsyncSink.route_of


class AtomicUnroutedSink(AtomicSimulatedSink):
    route_of = AsyncSink.route_of


SINKS: dict[tuple[bool, bool], type[SimulatedSink]] = {
    (False, False): UnroutedSink,
    (False, True): SimulatedSink,
    (True, False): AtomicUnroutedSink,
    (True, True): AtomicSimulatedSink,
}
"""By whether requests are atomic, and whether entries have routes."""
