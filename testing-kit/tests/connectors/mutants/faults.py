"""Mutants that take a fault for something else."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import anyio
from reference import Entry, ReferenceSink

from asyncsink import ErrorTable, RequestEntries, RequestError, RequestResult
from asyncsink_testing import InProcessDestination
from asyncsink_testing import destination as codes
from asyncsink_testing.faults import Fault
from mutants import mutant

Entries = RequestEntries[Entry]


class CountsFailures(ReferenceSink):
    """Counts how often in a row the same thing went wrong, whatever request it was; the base of some mutants."""

    last, in_a_row = "", 0

    def count(self, what: str) -> int:
        self.in_a_row = self.in_a_row + 1 if what == self.last else 1
        self.last = what
        return self.in_a_row


class ReadTimeout(Exception):
    """What a client library raises, which is no ``TimeoutError``."""


# ---- the connection ------------------------------------------------------------------------------------------


@mutant(
    fails=[
        "disconnected",
        "fatal-stops",
        "outage",
        "repeats-keep-their-id",
        "every-short-script",
        "long-scripts",
    ]
)
class SwallowsDisconnects(ReferenceSink):
    """It logs that the connection broke, and goes on as if the request had been stored."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except ConnectionError:
            return RequestResult.OK


@mutant(
    fails=[
        "disconnected",
        "outage",
        "repeats-keep-their-id",
        "every-short-script",
        "long-scripts",
    ]
)
class LosesOnTheSecondDisconnect(ReferenceSink):
    """It repeats a request whose connection broke, and looks at the outcome of the first try only."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except ConnectionError:
            if entries.attempt == 1:
                raise
            return RequestResult.OK


@mutant(fails=["disconnected", "long-scripts"])
class GivesUpAfterSixDisconnects(CountsFailures):
    """When the connection has broken six times in a row it drops the request."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            result = await super().submit_request_entries(entries, client)
        except ConnectionError:
            if self.count("broken") < 6:
                raise
            return RequestResult.OK
        except RequestError as error:
            self.count(error.code)
            raise
        self.count("ok")
        return result


@mutant(fails=["answer-lost", "long-scripts"])
class SendsTwiceToBeSure(ReferenceSink):
    """After five tries it sends a request twice, to be sure."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        if entries.attempt > 5:
            await super().submit_request_entries(entries, client)
        return await super().submit_request_entries(entries, client)


@mutant(fails=["answer-cut", "long-scripts"])
class TripsOverHalfAnAnswer(ReferenceSink):
    """Its client hands out half an answer, and the error of the parser leaves ``submit_request_entries`` as it is."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except ConnectionError as error:
            met = [each.step.fault for each in client.model.requests if each.id == entries.id]
            if met[-1] is Fault.ANSWER_CUT:
                raise ValueError("Expecting ',' delimiter: line 1 column 12") from error
            raise


@mutant(fails=["hanging", "long-scripts"])
class TakesItsDeadlineForAnAnswer(ReferenceSink):
    """It has a deadline of its own, a little before the writer's, and does not ask whether that is over."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        with anyio.move_on_after(max(0.5, 0.8 * self.config.request_timeout_s)):
            return await super().submit_request_entries(entries, client)
        return RequestResult.OK


@mutant(fails=["hanging-stored", "long-scripts"])
class RepeatsByItself(ReferenceSink):
    """It has a deadline of its own, repeats the request when that is over, and then fails all the same."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        with anyio.move_on_after(max(0.5, 0.8 * self.config.request_timeout_s)):
            return await super().submit_request_entries(entries, client)
        await super().submit_request_entries(entries, client)
        raise TimeoutError("it took too long")


@mutant(fails=["slow-answer"])
class LeavesItsClientsDeadline(ReferenceSink):
    """Its client library gives up after five seconds, by an exception that nobody told the table of."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        with anyio.move_on_after(5):
            return await super().submit_request_entries(entries, client)
        raise ReadTimeout("no answer within 5 s")


@mutant(fails=["slow-answer"])
class RepeatsAfterItsClientsDeadline(ReferenceSink):
    """Its client library gives up after five seconds, whatever requestTimeout the user sets, and so it never ends."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        with anyio.fail_after(5):
            return await super().submit_request_entries(entries, client)


# ---- answers that concern the whole request ------------------------------------------------------------------


@mutant(
    fails=[
        "connections-given-back",
        "every-short-script",
        "key-order-under-faults",
        "long-scripts",
        "outage",
        "partial-throttled",
        "retry-after",
        "snapshot-restore",
        "statistics-add-up",
        "throttled",
    ]
)
class TakesThrottlesForFatal(ReferenceSink):
    """Its table names the code of throttling among those that no retry can mend."""

    errors: ClassVar[ErrorTable] = replace(
        ReferenceSink.errors,
        throttled=frozenset(),
        fatal={codes.FORBIDDEN: "Ask.", codes.THROTTLED: "Raise the quota."},
    )


@mutant(fails=["throttled"])
class HasItsOwnLimitOfThrottles(CountsFailures):
    """It says after a dozen throttles in a row that the service is not there."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            result = await super().submit_request_entries(entries, client)
        except RequestError as error:
            if self.count(error.code) > 12:
                raise RuntimeError("retries exhausted") from error
            raise
        except ConnectionError:
            self.count("broken")
            raise
        self.count("ok")
        return result


@mutant(fails=["unavailable", "outage", "long-scripts"])
class TakesServerErrorsForSuccess(ReferenceSink):
    """It looks for the codes of errors that it knows, and 503 is none of them."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            if error.code == codes.UNAVAILABLE:
                return RequestResult.OK
            raise


@mutant(fails=["unavailable", "long-scripts"])
class GivesUpAfterSixRefusals(CountsFailures):
    """When the service has said six times in a row that it is unavailable it drops the request."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            result = await super().submit_request_entries(entries, client)
        except RequestError as error:
            if self.count(error.code) >= 6 and error.code == codes.UNAVAILABLE:
                return RequestResult.OK
            raise
        except ConnectionError:
            self.count("broken")
            raise
        self.count("ok")
        return result


@mutant(fails=["retry-after"])
class IgnoresRetryAfter(ReferenceSink):
    """It does not read from the answer how long it is to wait."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            raise RequestError(error.code, error.message) from error


@mutant(fails=["fatal-stops", "reopen-after-failure"])
class SwallowsFatalAnswers(ReferenceSink):
    """It logs that the service does not let it write, and goes on."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            if error.code == codes.FORBIDDEN:
                return RequestResult.OK
            raise


@mutant(fails=["fatal-stops"])
class TakesAFatalRepetitionForStored(ReferenceSink):
    """It takes every refusal of a repetition to say that the first sending was stored."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            if error.code == codes.FORBIDDEN and entries.attempt > 1:
                return RequestResult.OK
            raise


@mutant(fails=["fatal-stops"])
class RetriesFatalAnswers(ReferenceSink):
    """Its table has every code among those that may be retried."""

    errors: ClassVar[ErrorTable] = ErrorTable.of(
        throttled=[codes.THROTTLED],
        retryable=[codes.INTERNAL, codes.UNAVAILABLE, codes.FORBIDDEN],
        rejected=[codes.POISONED],
    )


@mutant(fails=["fatal-stops"])
class SaysNotWhatToDo(ReferenceSink):
    """Its table names the fatal code without a remedy."""

    errors: ClassVar[ErrorTable] = replace(ReferenceSink.errors, fatal={codes.FORBIDDEN: ""})


@mutant(fails=["outage"])
class BreakerNeverCloses(ReferenceSink):
    """After twenty failures in a row its circuit breaker opens, and it takes nothing any more."""

    failures = 0

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        if self.failures >= 20:
            raise RuntimeError("the circuit is open")
        try:
            result = await super().submit_request_entries(entries, client)
        except (RequestError, ConnectionError):
            self.failures += 1
            raise
        self.failures = 0
        return result


@mutant(fails=["every-short-script", "long-scripts"])
class TakesAThrottledRepetitionForStored(ReferenceSink):
    """A repetition that is throttled tells it that the first sending has been stored."""

    async def submit_request_entries(self, entries: Entries, client: InProcessDestination) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            if error.code == codes.THROTTLED and entries.attempt > 1:
                return RequestResult.OK
            raise
