"""Mutants that take a fault for something else."""

from __future__ import annotations

from reference import Entry, ReferenceSink

from asyncsink import RequestEntries, RequestResult
from asyncsink_testing import InProcessDestination
from mutants import mutant


@mutant(fails=["partial-failure"])
class IgnoresPartialFailures(ReferenceSink):
    """It does not look at the answers about single entries."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        await super().submit_request_entries(entries, client)
        return RequestResult.OK
