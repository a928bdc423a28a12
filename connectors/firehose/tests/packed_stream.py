"""A delivery stream of the checks that looks into packed records: its entries are rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import accumulate, pairwise

from asyncsink_testing.aws import FirehoseDestination, FirehoseFake
from asyncsink_testing.aws.calls import AwsCall, call_of
from asyncsink_testing.aws.fake import data_in
from asyncsink_testing.faults import Fault, Step
from asyncsink_testing.http_server import HttpRequest, Reaction


class PackedFake(FirehoseFake):
    """A delivery stream whose records hold lines, each of them an entry."""

    cuts: Sequence[int] = ()
    """Where the records of the last request begin among its rows, and where the last one ends."""

    def entries(self, request: HttpRequest) -> Sequence[bytes]:
        call = call_of(request)
        assert call is not None
        records = [data_in(each).splitlines(keepends=True) for each in self.records_in(call)]
        self.cuts = [*accumulate(map(len, records), initial=0)]
        return [row for rows in records for row in rows]

    def store(self, call: AwsCall, failed: Mapping[int, Fault]) -> Reaction:
        """Store all but the records of these rows."""
        starts = {start: record for record, start in enumerate(self.cuts[:-1])}
        return super().store(call, {starts[row]: fault for row, fault in failed.items() if row in starts})


class PackedDestination(FirehoseDestination):
    """One in front of a :class:`PackedFake`: with a row its whole record fails."""

    fake: PackedFake

    @classmethod
    @asynccontextmanager
    async def opened(  # type: ignore[override]
        cls, fake: FirehoseFake | None = None, **whole: Reaction
    ) -> AsyncIterator[FirehoseDestination]:
        async with cls(fake or PackedFake(), **whole).listening() as destination:
            yield destination

    def _failed(self, step: Step, count: int) -> dict[int, Fault]:
        failed = super()._failed(step, count)
        spread: dict[int, Fault] = {}
        for start, stop in pairwise(self.fake.cuts):
            first = next((failed[row] for row in range(start, stop) if row in failed), None)
            if first is not None:
                spread |= dict.fromkeys(range(start, stop), first)
        return spread
