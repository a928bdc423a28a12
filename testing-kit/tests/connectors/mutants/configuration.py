"""Mutants that read options in their own way, or tell secrets."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from reference import CAPABILITIES, Entry, ReferenceOptions, ReferenceSink

from asyncsink import ConnectorOptions, InitContext, RequestEntries, RequestResult, WriterOptions, option
from asyncsink.errors import ConfigurationError, RequestError
from asyncsink.options import folded, parse_options
from asyncsink.options.fields import OptionField, option_fields
from asyncsink_testing import InProcessDestination
from mutants import mutant

logger = logging.getLogger(__name__)

KNOWN = {
    folded(spelling.name): each
    for section in (ReferenceOptions, WriterOptions)
    for each in option_fields(section)
    for spelling in each.spellings
}


@mutant(fails=["unknown-option"])
class IgnoresUnknownOptions(ReferenceSink):
    """It picks the options that it knows, and leaves the rest."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        return super().from_options({name: value for name, value in options.items() if folded(name) in KNOWN})


@mutant(fails=["unknown-option"])
class SuggestsNothing(ReferenceSink):
    """It says of an unknown option no more than that there is one."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        if unknown := [name for name in options if folded(name) not in KNOWN]:
            raise ConfigurationError(f"{len(unknown)} options are not known")
        return super().from_options(options)


@mutant(fails=["missing-option"])
class SendsToAnAddressOfItsOwn(ReferenceSink):
    """Where no endpoint is given it takes one on this machine."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        return super().from_options(options if "endpoint" in map(folded, options) else {**options, "endpoint": "local"})


def _readable(known: OptionField | None, value: str) -> bool:
    return known is None or known.kind not in (int, float) or value[:1].isdigit()


@mutant(fails=["bad-value"])
class TakesTheDefaultForWhatItCannotRead(ReferenceSink):
    """It leaves out numbers that it cannot read, so that the defaults hold."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        given = {name: value for name, value in options.items() if _readable(KNOWN.get(folded(name)), value)}
        return super().from_options(given)


@mutant(fails=["bad-value"])
class DoesNotSayWhichValue(ReferenceSink):
    """It reads a number of its own by ``int``, whose error names no option."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        for name, value in options.items():
            if folded(name) == "maxbatchsize":
                try:
                    int(value)
                except ValueError as error:
                    raise ConfigurationError(str(error)) from error
        return super().from_options(options)


@dataclass(frozen=True, kw_only=True)
class UndocumentedOptions(ConnectorOptions):
    """Options of which one is a riddle."""

    endpoint: str = option(doc="Endpoint of the destination.")
    token: str | None = option(None, doc="token", secret=True)


@mutant(fails=["options-documented"])
class DocumentsNothing(ReferenceSink):
    """One of its options repeats its name where its documentation belongs."""

    options_type: ClassVar[type[ConnectorOptions]] = UndocumentedOptions


@mutant(fails=["options-by-any-spelling"])
class ComparesNamesLetterByLetter(ReferenceSink):
    """It looks for an option of its own by one spelling, and Spark brings another."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        exact = {each.name for each in KNOWN.values()}
        sink = super().from_options(options)
        for name in options:
            if name not in exact:
                raise ConfigurationError(f"option {name!r} is not known; write it as the reference does")
        return sink


@mutant(fails=["config-checked-early"])
class ChecksItsConfigurationLate(ReferenceSink):
    """It puts the writer's options aside until there is a writer."""

    writer_options: WriterOptions

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        own, writer = parse_options(options, cls.options_type, WriterOptions)
        sink = cls(own)
        sink.writer_options = writer
        return sink

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        self.config = self.writer_options.config(self.default_config())
        return super().create_writer(context, states)


# ---- secrets -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TalkativeOptions(ReferenceOptions):
    """Options with a ``__repr__`` of their own."""

    def __repr__(self) -> str:
        return f"TalkativeOptions({self.endpoint!r}, {self.token!r})"


@mutant(fails=["secrets-hidden"])
class ShowsItsSecrets(ReferenceSink):
    """Its options are printed with all that they hold."""

    options_type: ClassVar[type[ConnectorOptions]] = TalkativeOptions


@mutant(fails=["secrets-hidden"])
class LogsItsSecrets(ReferenceSink):
    """It logs how it connects, the token included."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            logger.debug("connected to %s as %s", self.options.endpoint, self.options.token)
            yield client


@mutant(fails=["secrets-hidden"])
class QuotesItsRequests(ReferenceSink):
    """Its errors quote the request that failed, with the header that holds the token."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            request = f"POST with Authorization: Bearer {self.options.token}"
            raise RequestError(error.code, f"{error.message} ({request})", error.retry_after_s) from error


@mutant(fails=["secrets-hidden"])
class QuotesRefusedRequests(ReferenceSink):
    """What it says of a refused entry quotes the request, with the header that holds the token."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        request = f"POST with Authorization: Bearer {self.options.token}"
        return RequestResult({at: replace(each, message=request) for at, each in result.failed.items()})


# ---- rows ----------------------------------------------------------------------------------------------------


@mutant(fails=["rows-hidden"])
class LogsWhatItSends(ReferenceSink):
    """It logs every request with all that it holds, for whoever runs it to see that something happens."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        logger.info("sending %s", list(entries))
        return await super().submit_request_entries(entries, client)


@mutant(fails=["rows-hidden"])
class QuotesRefusedRows(ReferenceSink):
    """What it says of a refused entry is the entry."""

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        return RequestResult({at: replace(each, message=str(entries[at])) for at, each in result.failed.items()})


@mutant(fails=["capabilities-told"], capabilities=replace(CAPABILITIES, keeps_state=False))
class DeniesItsState(ReferenceSink):
    """Its author has denied what the checks would have looked at."""


@mutant(
    fails=["snapshot-restore", "reopen-after-failure"], capabilities=replace(CAPABILITIES, keeps_state="without rows")
)
class DeniesTheRowsOfItsState(ReferenceSink):
    """Its state holds rows, and whoever goes by what its author says hands these over again."""


@mutant(fails=["capabilities-told"], capabilities=replace(CAPABILITIES, ordering="none", partial_failure=False))
class DeniesItsOrder(ReferenceSink):
    """It has keys and answers by entry, and its author says that it has neither."""
