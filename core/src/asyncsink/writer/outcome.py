"""What an answer means for a request and for each of its entries. Pure: it changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from asyncsink.errors import RequestError
from asyncsink.failures import ErrorTable, Failure, FailureKind
from asyncsink.request import RequestResult

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """An answer, taken apart.

    :ivar kind: of the whole request, or None if it was answered entry by entry
    :ivar failures: by index, where it was answered entry by entry; every other entry is stored
    :ivar pause_s: for how long the service wants to be left alone, though it has answered
    :ivar error: what to tell the user, and what to chain, when it comes to that
    """

    kind: FailureKind | None = None
    code: str = ""
    error: BaseException | None = None
    retry_after_s: float | None = None
    failures: dict[int, tuple[FailureKind, Failure]] = field(default_factory=dict)
    pause_s: float | None = None

    def indices(self, kind: FailureKind) -> list[int]:
        """The entries that failed in this way, in order."""
        return sorted(index for index, (each, _) in self.failures.items() if each is kind)

    def is_throttled(self, count: int) -> bool:
        """Whether the service has throttled every one of the request's `count` entries by index."""
        return len(self.failures) == count and all(kind is FailureKind.THROTTLED for kind, _ in self.failures.values())


class Judge:
    """Looks answers up in a sink's error table, and warns once of each code that is not in it."""

    __slots__ = ("_errors", "_sink", "_warned")

    def __init__(self, errors: ErrorTable, sink: str) -> None:
        self._errors, self._sink = errors, sink
        self._warned: set[Hashable] = set()

    def judge(self, answer: Any, count: int) -> Outcome:
        """Take apart what ``submit_request_entries`` returned or raised for a request of `count` entries."""
        if isinstance(answer, RequestResult):
            return self._judge_result(answer, count)
        if isinstance(answer, RequestError):
            if not _is_told(answer):
                return Outcome(FailureKind.FATAL, "TypeError", _untold("RequestError"))
            kind = self._errors.kind_of(answer.code)
            if kind is None:
                self._warn(answer.code, "fatal, as its outcome for a whole request cannot be told")
            return Outcome(kind or FailureKind.FATAL, answer.code, answer, answer.retry_after_s)
        if isinstance(answer, BaseException):
            return Outcome(self._errors.kind_of_exception(answer), type(answer).__name__, answer)
        wrong = TypeError(f"submit_request_entries returned {type(answer).__name__}; it must return a RequestResult")
        return Outcome(FailureKind.FATAL, "TypeError", wrong)

    def _judge_result(self, result: RequestResult, count: int) -> Outcome:
        outside = next((index for index in result.failed if not _is_index(index, count)), None)
        if outside is not None:
            wrong = IndexError(f"the answer names entry {outside!r} of a request of {count} entries")
            return Outcome(FailureKind.FATAL, "IndexError", wrong)
        if not all(map(_is_told, result.failed.values())):
            return Outcome(FailureKind.FATAL, "TypeError", _untold("Failure"))
        outcome = Outcome(pause_s=result.pause_s)
        for index, failure in result.failed.items():
            kind = failure.kind or self._errors.kind_of(failure.code)
            if kind is None:
                self._warn(failure.code, "retryable")
                kind = FailureKind.RETRYABLE
            outcome.failures[index] = kind, failure
        return outcome

    def remedy(self, code: str) -> str:
        """What the user should do about a fatal code, as a sentence to append; empty if the table does not say."""
        remedy = self._errors.remedy(code)
        return f" {remedy}" if remedy else ""

    def _warn(self, code: str, taken_as: str) -> None:
        if code not in self._warned and len(self._warned) < 100:
            self._warned.add(code)
            logger.warning("%s: code %r is not in its ErrorTable; taken as %s", self._sink, code, taken_as)


def _is_index(index: Any, count: int) -> bool:
    return isinstance(index, int) and not isinstance(index, bool) and 0 <= index < count


def _is_told(failure: Failure | RequestError) -> bool:
    return isinstance(failure.code, str) and isinstance(failure.message, str)


def _untold(what: str) -> TypeError:
    return TypeError(f"a {what} has a code or a message that is no str; a connector must give both as text")
