"""From an answer to what became of the rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from http import HTTPStatus
from typing import Final, Protocol

from asyncsink.errors import RequestError
from asyncsink.failures import Failure
from asyncsink.metrics import Counter
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import ANSWER_TOO_LARGE, IN_PROGRESS, ITEM_RESULTS
from asyncsink_http.answers.items import item_results_of
from asyncsink_http.answers.rate_limits import refused_s, used_up_s
from asyncsink_http.answers.retry_after import retry_after_s
from asyncsink_http.answers.statuses import StatusTable, Verdict
from asyncsink_http.entries.entry import HttpEntry
from asyncsink_http.entries.target import Target
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.urls import shown_target, shown_url

logger = logging.getLogger(__name__)

_QUOTED_BYTES: Final = 64 * 1024


class Conversation(Protocol):
    """What is known where an answer has come; a client is one."""

    @property
    def redaction(self) -> Redaction:
        """Hides what must not be shown."""
        ...

    @property
    def in_flight(self) -> int:
        """Requests that are under way still."""
        ...


class AnswerJudge:
    """Says what an answer means for the rows of its request. Picklable unless it counts.

    :param ignored_rows: counts the rows that are given up by the option ignoreCodes
    :param is_repeated: whether a replay repeats the keys of requests, as it does with batching=deterministic
    """

    def __init__(
        self,
        options: HttpOptions,
        statuses: StatusTable,
        ignored_rows: Counter | None = None,
        *,
        is_repeated: bool = False,
    ) -> None:
        self._options = options
        self._statuses = statuses
        self._ignored_rows = ignored_rows
        self._is_repeated = is_repeated
        self._conflicts_pass = options.idempotency_key and HTTPStatus.CONFLICT not in options.chosen_statuses()
        self._warned: set[int] = set()

    def judge(
        self, answer: HttpAnswer, entries: RequestEntries[HttpEntry], conversation: Conversation
    ) -> RequestResult:
        """What became of each of the `entries`, and for how long the server wants to be left alone.

        :raises RequestError: none is stored, or nobody knows; what the server says is quoted without secrets
        """
        verdict = self._statuses.verdict(answer.status)
        result = self._of_rows(answer, verdict, entries, conversation)
        if result is None:
            if verdict is Verdict.IGNORED:
                self._ignore(answer, entries, conversation)
            elif verdict is not Verdict.STORED:
                raise self._error(answer, verdict, entries, conversation)
            result = RequestResult.OK
        if self._options.rate_limit_headers and result.pause_s is None:
            pause_s = used_up_s(answer.headers, conversation.in_flight)
            return result if pause_s is None else replace(result, pause_s=pause_s)
        return result

    # ---- row by row ----------------------------------------------------------------------------------------------

    def _of_rows(
        self,
        answer: HttpAnswer,
        verdict: Verdict,
        entries: RequestEntries[HttpEntry],
        conversation: Conversation,
    ) -> RequestResult | None:
        """What the answer says of each row; None if nobody asks for that, or it says nothing."""
        if self._options.item_results is None or not _may_judge_rows(answer.status, verdict):
            return None
        read = item_results_of(self._options)
        assert read is not None
        if answer.is_cut:
            raise self._unread(
                ANSWER_TOO_LARGE, f"of more than {len(answer.body)} bytes", answer, entries, conversation
            )
        try:
            result = read(answer, len(entries))
            if result is None:
                if answer.status == HTTPStatus.MULTI_STATUS:
                    raise ValueError("nothing was read of it")
                return None
            return self._checked(result, len(entries), conversation)
        except Exception as error:
            # Whatever it is: the rows of an answer that nobody understands count neither as stored nor as refused.
            text = f"cannot be read by itemResults={self._options.item_results}: {type(error).__name__}: {error}"
            raise self._unread(ITEM_RESULTS, text, answer, entries, conversation) from error

    def _checked(self, result: RequestResult, rows: int, conversation: Conversation) -> RequestResult:
        if not isinstance(result, RequestResult):
            raise TypeError(f"it gave {type(result).__name__}, and not a RequestResult or None")
        for index in result.failed:
            if not isinstance(index, int) or not 0 <= index < rows:
                raise IndexError(f"it names row {index!r} of {rows}")
        if not result.failed:
            return result
        hidden: dict[str, str] = {}
        return replace(
            result,
            failed={index: self._shown(each, conversation, hidden) for index, each in result.failed.items()},
        )

    def _shown(self, failure: Failure, conversation: Conversation, hidden: dict[str, str]) -> Failure:
        """A failure whose message may be shown; those of one answer are mostly alike."""
        if failure.message not in hidden:
            hidden[failure.message] = self._quoted(failure.message, conversation)
        return replace(failure, message=hidden[failure.message])

    def _unread(
        self,
        code: str,
        what: str,
        answer: HttpAnswer,
        entries: RequestEntries[HttpEntry],
        conversation: Conversation,
    ) -> RequestError:
        shown = conversation.redaction.hide(what, 500)
        return RequestError(code, f"an answer {answer.status} from {self._address(entries)} {shown}.")

    # ---- the whole request ---------------------------------------------------------------------------------------

    def _ignore(self, answer: HttpAnswer, entries: RequestEntries[HttpEntry], conversation: Conversation) -> None:
        if self._ignored_rows is not None:
            self._ignored_rows.inc(len(entries))
        if answer.status not in self._warned:
            self._warned.add(answer.status)
            logger.warning(
                "%d rows count as delivered by ignoreCodes, and later ones that are answered so: %d %s",
                len(entries),
                answer.status,
                self._message(answer, entries, conversation),
            )

    def _error(
        self,
        answer: HttpAnswer,
        verdict: Verdict,
        entries: RequestEntries[HttpEntry],
        conversation: Conversation,
    ) -> RequestError:
        message = self._message(answer, entries, conversation)
        wait_s = self._wait_s(answer, verdict, conversation)
        if verdict is Verdict.REJECTED and answer.status == HTTPStatus.CONFLICT and self._may_be_resent(entries):
            return RequestError(IN_PROGRESS, message, wait_s)
        remedy = self._statuses.remedy(answer.status) if verdict is Verdict.REJECTED else ""
        return RequestError(str(answer.status), f"{message} {remedy}" if remedy else message, wait_s)

    def _wait_s(self, answer: HttpAnswer, verdict: Verdict, conversation: Conversation) -> float | None:
        is_load = verdict is Verdict.THROTTLED or answer.status == HTTPStatus.SERVICE_UNAVAILABLE
        if is_load and self._options.rate_limit_headers:
            return refused_s(answer.headers, conversation.in_flight)
        return retry_after_s(answer.headers)

    def _may_be_resent(self, entries: RequestEntries[HttpEntry]) -> bool:
        """Whether the request may have been sent before under the same idempotency key, here or by a killed task.

        A 409 may then speak of that earlier sending, which is still at work (IETF draft idempotency-key-header, 2.6),
        and not of the rows; to halve the request would store these under other keys too. What an option says of 409
        holds whenever it comes.
        """
        return self._conflicts_pass and (self._is_repeated or entries.attempt > 1)

    def _message(self, answer: HttpAnswer, entries: RequestEntries[HttpEntry], conversation: Conversation) -> str:
        said = self._quoted(answer.body[:_QUOTED_BYTES].decode(errors="replace"), conversation)
        quoted = f'; the server says "{said}"' if said else ""
        leading = self._leading(answer, entries, conversation)
        reason = conversation.redaction.hide(answer.reason) or "no reason given"
        return f"{reason} from {self._address(entries)}{leading}{quoted}."

    def _leading(self, answer: HttpAnswer, entries: RequestEntries[HttpEntry], conversation: Conversation) -> str:
        """Where a redirect leads, which is where the rows should have gone, or a page to log in."""
        location = answer.headers.get("location")
        if not location or not 300 <= answer.status < 400:
            return ""
        target = entries.route
        shown = shown_target(target.url if isinstance(target, Target) else self._options.url, location)
        return "" if shown is None else f", which leads to {conversation.redaction.hide(shown)}"

    def _quoted(self, text: str, conversation: Conversation) -> str:
        most = self._options.response_characters
        return conversation.redaction.hide(text, most) if most else ""

    def _address(self, entries: RequestEntries[HttpEntry]) -> str:
        target = entries.route
        if isinstance(target, Target):
            return f"{target.method} {shown_url(target.url)}"
        return f"{self._options.method} {self._options.shown_url}"


def _may_judge_rows(status: int, verdict: Verdict) -> bool:
    """Whether an answer of such a status may speak of single rows."""
    return verdict in (Verdict.STORED, Verdict.REJECTED) and (status < 300 or status == HTTPStatus.BAD_REQUEST)
