"""What each status means: one table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, Self

from asyncsink.failures import ErrorTable
from asyncsink_http.answers.codes import FATAL_CODES, RETRYABLE_CODES
from asyncsink_http.options import HttpOptions
from asyncsink_http.options.status_codes import STATUSES

_CREDENTIALS = "Check the options of credentials, such as bearerToken, and that these have not expired."
_REDIRECTION = (
    "Set url to the address that answers itself: redirects are followed by redirects=same-origin only, and of them 307 "
    "and 308 to the same scheme, host and port."
)
_WRONG_ROWS = "Check that the columns, body and contentType are what the address takes."
_NOT_THE_ROWS = "The server refuses every request of this kind: ask its operator what it expects."

_FATAL: Final[Mapping[int, str]] = {
    207: "An answer that judges each row is not read: set itemResults, or use an endpoint that answers for the whole "
    "request.",
    **dict.fromkeys(range(300, 400), _REDIRECTION),
    401: f"The server wants to know who sends. {_CREDENTIALS}",
    402: _NOT_THE_ROWS,
    403: f"The sender may not write here: have the permission granted. {_CREDENTIALS}",
    404: "Nothing is at this address: check url.",
    405: "The address does not take this method: check method and url.",
    406: "The server cannot answer as it is asked to: check header.Accept.",
    407: "A proxy wants to know who sends: check proxyUsername and proxyPassword or, without option proxy, the "
    "credentials in HTTP_PROXY or ALL_PROXY where the tasks run.",
    410: "The address has been given up: check url.",
    411: _NOT_THE_ROWS,
    414: "The address is too long for the server: shorten url.",
    415: "The server does not take this format: check body, contentType and compression.",
    417: _NOT_THE_ROWS,
    421: "The address leads to the wrong server: check the host in url.",
    426: "The server wants another protocol: check the scheme of url.",
    431: "The headers are too large for the server: shorten the header.* options.",
    451: _NOT_THE_ROWS,
    501: "The server does not know this method: check method.",
    505: "The server does not take HTTP/1.1: put a proxy that does before it.",
}
_REJECTED_REMEDIES: Final[Mapping[int, str]] = {
    400: _WRONG_ROWS,
    413: "Lower maxBatchSize or maxBatchSizeInBytes; a row that is too large by itself has to become shorter.",
    422: _WRONG_ROWS,
}


class Verdict(Enum):
    """What an answer means for the rows of its request; all but the first two are kinds of failure."""

    STORED = "stored"
    IGNORED = "ignored"
    THROTTLED = "throttled"
    RETRYABLE = "retryable"
    REJECTED = "rejected"
    FATAL = "fatal"


_BY_OPTION: Final[Mapping[str, Verdict]] = {
    "successCodes": Verdict.STORED,
    "ignoreCodes": Verdict.IGNORED,
    "throttleCodes": Verdict.THROTTLED,
    "retryCodes": Verdict.RETRYABLE,
    "rejectCodes": Verdict.REJECTED,
    "fatalCodes": Verdict.FATAL,
}
_BY_FATAL_CODES = "The option fatalCodes says that no retry helps."


def _usual(status: int) -> Verdict:
    if status in _FATAL:
        return Verdict.FATAL
    if status < 300:
        return Verdict.STORED
    if status == 429:
        return Verdict.THROTTLED
    if status in (408, 425) or status >= 500:
        return Verdict.RETRYABLE
    # What is left of 4xx speaks of what was sent: 400, 409, 413, 422 and all that are unknown.
    return Verdict.REJECTED


class StatusTable:
    """The verdict on every status from 200 to 599: what options say of it, else the usual one. Picklable."""

    def __init__(self, verdicts: Mapping[int, Verdict]) -> None:
        self._verdicts = verdicts

    @classmethod
    def of(cls, options: HttpOptions) -> Self:
        """The table that resolved options ask for."""
        verdicts = {status: _usual(status) for status in STATUSES}
        if options.item_results is not None:
            verdicts[207] = Verdict.STORED
        return cls(verdicts | {status: _BY_OPTION[each.option] for status, each in options.chosen_statuses().items()})

    def verdict(self, status: int) -> Verdict:
        """What the status means; one that is none of HTTP's is fatal."""
        return self._verdicts.get(status, Verdict.FATAL)

    def remedy(self, status: int) -> str:
        """What the user should do about rows that the status rejects; empty where that is not known."""
        return _REJECTED_REMEDIES.get(status, "")

    def errors(self) -> ErrorTable:
        """The statuses that are failures, and the codes of failures without a status."""
        return ErrorTable.of(
            throttled=self._codes(Verdict.THROTTLED),
            retryable={*self._codes(Verdict.RETRYABLE), *RETRYABLE_CODES},
            rejected=self._codes(Verdict.REJECTED),
            fatal={
                **{code: _FATAL.get(int(code), _BY_FATAL_CODES) for code in self._codes(Verdict.FATAL)},
                **FATAL_CODES,
            },
        )

    def _codes(self, verdict: Verdict) -> list[str]:
        return [str(status) for status, each in self._verdicts.items() if each is verdict]
