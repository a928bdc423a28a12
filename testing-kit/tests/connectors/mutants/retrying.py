"""Mutants whose client repeats requests by itself."""

from __future__ import annotations

from reference import Entry, ReferenceSink

from asyncsink import RequestEntries, RequestResult
from asyncsink_testing import InProcessDestination
from mutants import mutant


@mutant(fails=["writer-alone-retries"])
class ClientRepeatsWhatBreaks(ReferenceSink):
    """Its client library sends a request again, once, whose connection broke."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except ConnectionError:
            return await super().submit_request_entries(entries, client)
