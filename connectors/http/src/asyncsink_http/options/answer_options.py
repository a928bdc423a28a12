"""Options of answers: what each means, and who is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink.options.names import did_you_mean, folded
from asyncsink_http.options.status_codes import Choice, chosen

ITEM_RESULTS: Final = ("elasticsearch", "splunk-hec")
"""The APIs whose answers for single rows are read without a function of the user's."""


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(ConnectorOptions):
    """What follows an answer. A status that no option names means what the README's table says."""

    success_codes: str | None = option(
        None,
        doc="Statuses that store every row, such as 404 or 2XX,!202; beside those of the table.",
        aliases=["http.sink.success-codes", "successful_on"],
    )
    ignore_codes: str | None = option(
        None,
        doc="Statuses whose rows count as delivered though they may not be: they are counted as ignoredRows.",
        aliases=["http.sink.ignored-response-codes", "http.sink.error.code.exclude", "ignorable_codes"],
    )
    retry_codes: str | None = option(
        None,
        doc="Statuses after which nobody knows whether the rows are stored: the same request is sent again.",
        aliases=["http.sink.retry-codes", "retryable_codes", "retry.on.status.codes"],
    )
    throttle_codes: str | None = option(
        None,
        doc="Statuses that mean too fast, and that nothing is stored: the rows are sent again, more slowly.",
        aliases=["backoff_on"],
    )
    reject_codes: str | None = option(
        None, doc="Statuses that mean that a row is wrong, and that nothing is stored: onRejected says what follows."
    )
    fatal_codes: str | None = option(None, doc="Statuses after which no retry helps: the task fails.")
    item_results: str | None = option(
        None,
        doc="Who reads answers that judge each row: elasticsearch, for the _bulk of Elasticsearch and OpenSearch, "
        "splunk-hec, or a function of your own as package.module:name.",
    )
    rate_limit_headers: bool = option(
        True,
        doc="Heed the headers RateLimit and RateLimit-Remaining, or X-RateLimit-Remaining, with their resets: send "
        "nothing until the window is over whose quota is used up.",
    )
    response_callback: str | None = option(
        None, doc="Function that is called with an HttpExchange after every answer, as package.module:name."
    )
    response_characters: int = option(
        1000, doc="Characters of an answer that errors and dead letters quote at most, without secrets; 0 for none."
    )

    def check_answers(self) -> None:
        """:raises ConfigurationError: an option of answers breaks its rule, or two name the same status"""
        self.chosen_statuses()
        if not 0 <= self.response_characters <= 10_000:
            raise ConfigurationError(
                f"option 'responseCharacters' = {self.response_characters} must be from 0 to 10000; 0 quotes nothing"
            )
        if self.item_results is not None:
            object.__setattr__(self, "item_results", checked_reader(self.item_results))
        if self.response_callback is not None:
            check_import_path("responseCallback", self.response_callback)

    def chosen_statuses(self) -> Mapping[int, Choice]:
        """The option that each status goes by, where one names it."""
        return chosen(
            {
                "successCodes": self.success_codes,
                "ignoreCodes": self.ignore_codes,
                "retryCodes": self.retry_codes,
                "throttleCodes": self.throttle_codes,
                "rejectCodes": self.reject_codes,
                "fatalCodes": self.fatal_codes,
            }
        )


def checked_reader(text: str) -> str:
    """A value of the option ``itemResults``: a known reader as it is spelled, or an import path.

    :raises ConfigurationError: it is neither
    """
    known = {folded(each): each for each in ITEM_RESULTS}
    reader = known.get(folded(text.strip()), text.strip())
    if reader not in ITEM_RESULTS and ":" not in reader:
        names = " or ".join(map(repr, ITEM_RESULTS))
        hint = did_you_mean(reader, ITEM_RESULTS)
        nearest = f"; {hint}" if hint.startswith("did") else ""
        raise ConfigurationError(f"option 'itemResults' = {text!r} must be {names} or 'package.module:name'{nearest}")
    if ":" in reader:
        check_import_path("itemResults", reader)
    return reader


def check_import_path(option_name: str, path: str) -> None:
    """:raises ConfigurationError: the text is no import path; whether it leads anywhere shows where the writers run"""
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise ConfigurationError(
            f"option '{option_name}' = {path!r} is no import path; write it as 'package.module:name'"
        )
