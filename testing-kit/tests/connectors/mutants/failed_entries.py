"""Mutants that take the answer about an entry for one about another, or for something else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any, ClassVar

from reference import Entry, ReferenceSink

from asyncsink import AsyncSinkWriterConfig, ErrorTable, RequestEntries, RequestError, RequestResult
from asyncsink_testing import InProcessDestination
from asyncsink_testing import destination as codes
from mutants import Chosen, mutant

Entries = RequestEntries[Entry]


class Overlooks(ReferenceSink):
    """Does not see the failures with one code; the base of some mutants."""

    code: ClassVar[str]

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        return RequestResult({at: each for at, each in result.failed.items() if each.code != self.code})


class OverlooksWhatIsAll(ReferenceSink):
    """Does not see the failures with one code where all entries of a request have it; the base of some mutants."""

    code: ClassVar[str]

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        found = [index for index, failure in result.failed.items() if failure.code == self.code]
        return RequestResult.OK if len(found) == len(entries) > 1 else result


@mutant(
    fails=[
        "partial-failure",
        "partial-throttled",
        "statistics-add-up",
        "poison-fails",
        "poison-dropped",
        "every-short-script",
        "long-scripts",
    ]
)
class IgnoresPartialFailures(ReferenceSink):
    """It does not look at the answers about single entries."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        await super().submit_request_entries(entries, client)
        return RequestResult.OK


@mutant(fails=["partial-failure", "partial-throttled", "poison-dropped", "every-short-script", "long-scripts"])
class RepeatsTheWholeRequest(ReferenceSink):
    """When an entry fails it sends all of its request again."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        failures = [*result.failed.values()]
        return RequestResult(dict.fromkeys(range(len(entries)), failures[0])) if failures else result


@mutant(
    fails=[
        "partial-failure",
        "partial-throttled",
        "statistics-add-up",
        "poison-fails",
        "every-short-script",
        "long-scripts",
    ]
)
class CountsFromOne(ReferenceSink):
    """It takes the indices of the answer for numbers that count from 1."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        return RequestResult({max(index - 1, 0): failure for index, failure in result.failed.items()})


@mutant(fails=["partial-failure", "long-scripts"])
class OverlooksThatAllFailed(OverlooksWhatIsAll):
    """It reads the failures of a request beside what was stored of it, and finds none where nothing was."""

    code = codes.INTERNAL


@mutant(fails=["partial-throttled", "long-scripts"])
class OverlooksThrottledEntries(Overlooks):
    """It looks for the codes of errors among the entries, and being throttled is none to it."""

    code = codes.THROTTLED


@mutant(fails=["partial-failure", "partial-throttled", "single-file-order"])
class GroupsByKey(ReferenceSink):
    """It groups the entries of a request by key, and hands on the indices that the service knows of the groups."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        groups: dict[str, list[int]] = defaultdict(list)
        for index, entry in enumerate(entries):
            groups[entry.key].append(index)
        grouped = Chosen(entries, [index for group in groups.values() for index in group])
        return await super().submit_request_entries(grouped, client)


@mutant(fails=["partial-throttled"])
class DropsWhatIsThrottledTooOften(ReferenceSink):
    """It counts how often an entry was throttled, and gives it up after ten times."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self.throttles: Counter[bytes] = Counter()

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        throttled = [index for index, failure in result.failed.items() if failure.code == codes.THROTTLED]
        self.throttles.update(entries[index].payload for index in throttled)
        over = {index for index in throttled if self.throttles[entries[index].payload] > 10}
        return RequestResult({at: each for at, each in result.failed.items() if at not in over})


@mutant(fails=["long-scripts"])
class ReadsFourFailures(ReferenceSink):
    """It reads the first page of the failures, which has four of them."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        return RequestResult(dict(sorted(result.failed.items())[:4]))


@mutant(fails=["poison-fails", "poison-dropped"])
class TakesRefusedEntriesForStored(Overlooks):
    """It logs which entries the service refused, and goes on."""

    code = codes.POISONED


@mutant(fails=["poison-fails"])
class OverlooksThatAllWereRefused(OverlooksWhatIsAll):
    """It looks at an answer's failures beside what was stored, and where nothing was there is nothing to look at."""

    code = codes.POISONED


@mutant(fails=["poison-fails", "record-limit"])
class DropsByDefault(ReferenceSink):
    """It drops what is refused though nobody asked it to."""

    defaults: ClassVar[AsyncSinkWriterConfig] = replace(ReferenceSink.defaults, on_rejected="drop")


@mutant(fails=["poison-dropped"])
class RepeatsWhatIsRefused(ReferenceSink):
    """It sends refused entries again, in the hope that the service thinks better of them."""

    errors: ClassVar[ErrorTable] = ErrorTable.of(
        throttled=[codes.THROTTLED],
        retryable=[codes.INTERNAL, codes.UNAVAILABLE, codes.POISONED],
        fatal={codes.FORBIDDEN: "Allow this program to write to the destination."},
    )


@mutant(fails=["poison-dropped"])
class RefusesTheWholeRequest(ReferenceSink):
    """When one entry is refused it takes its whole request for refused."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        if any(failure.code == codes.POISONED for failure in result.failed.values()):
            raise RequestError(codes.POISONED, "some entries are malformed")
        return result


# ---- what a repetition is ------------------------------------------------------------------------------------


@mutant(fails=["repeats-keep-their-id"])
class NamesEachSending(ReferenceSink):
    """It gives each sending an id of its own, repetitions too."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        sent = Chosen(entries, name=f"{entries.id}.{entries.attempt}")
        return await super().submit_request_entries(sent, client)


@mutant(fails=["repeats-keep-their-id"])
class NamesAllTheSame(ReferenceSink):
    """It uses its own name as the id of every request."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        sent = Chosen(entries, name="parrot")
        return await super().submit_request_entries(sent, client)


@mutant(fails=["repeats-keep-their-id"])
class CountsItsRequests(ReferenceSink):
    """Its client counts requests, and the numbers are their ids: those of another writer are the same."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            self.numbers: dict[str, str] = {}
            yield client

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        name = self.numbers.setdefault(entries.id, str(len(self.numbers)))
        return await super().submit_request_entries(Chosen(entries, name=name), client)


@mutant(fails=["repeats-keep-their-id"])
class NamesByTheFirstEntry(ReferenceSink):
    """Its id of a request is the key of the first entry, with which another request begins when that has failed."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        return await super().submit_request_entries(Chosen(entries, name=entries[0].key), client)


@mutant(fails=["repeats-keep-their-id"])
class NamesByContent(ReferenceSink):
    """Its id of a request is a hash of what it holds, so that equal rows count as a repetition."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        name = sha256(b"".join(entry.payload for entry in entries)).hexdigest()
        return await super().submit_request_entries(Chosen(entries, name=name), client)
