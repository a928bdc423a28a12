"""Mutants that mix up the order of rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import ClassVar, Self

from reference import CAPABILITIES, Entry, ReferenceSink

from asyncsink import RequestEntries, RequestResult
from asyncsink.request import ListRequestEntries
from asyncsink_testing import InProcessDestination
from mutants import mutant


async def _send_as(
    sink: ReferenceSink, entries: RequestEntries[Entry], client: InProcessDestination, places: list[int]
) -> RequestResult:
    """Send the entries in the order of `places`, and say what became of them in their own."""
    other = ListRequestEntries(entries.block.take(places), id=entries.id, attempt=entries.attempt)
    answer = await ReferenceSink.submit_request_entries(sink, other, client)
    return RequestResult({places[index]: failure for index, failure in answer.failed.items()})


@mutant(fails=["single-file-order"])
class ReversesRequests(ReferenceSink):
    """It takes the entries of a request from the end of a list."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        return await _send_as(self, entries, client, list(range(len(entries)))[::-1])


@mutant(fails=["single-file-order"])
class SortsByKey(ReferenceSink):
    """It sorts the entries of a request by key, as some bulk interfaces want them."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        return await _send_as(self, entries, client, sorted(range(len(entries)), key=lambda at: entries[at].key))


@mutant(fails=["key-order", "key-order-under-faults"])
class KeysOfTheirOwn(ReferenceSink):
    """Its key is the whole row, so that no two rows have the same."""

    def key_of(self, entry: Entry) -> Hashable | None:
        return entry.payload


@mutant(fails=["key-order", "key-order-under-faults"])
class IgnoresOrdering(ReferenceSink):
    """It drops the option ``ordering``, so that two requests with the same key are under way at once."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        sink = super().from_options(options)
        return cls(sink.options, config=replace(sink.config, ordering="none"))


@mutant(fails=["key-order-under-faults"], capabilities=replace(CAPABILITIES, atomic_requests=True))
class ClaimsAtomicRequests(ReferenceSink):
    """It says that its service stores requests whole, and the service answers for single entries."""

    atomic_requests: ClassVar[bool] = True
