"""From an answer to what became of the rows."""

from __future__ import annotations

from http import HTTPStatus

from asyncsink.errors import RequestError
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import IN_PROGRESS
from asyncsink_http.answers.retry_after import retry_after_s
from asyncsink_http.answers.statuses import StatusTable, Verdict
from asyncsink_http.entries.entry import HttpEntry
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction


class AnswerJudge:
    """Says what an answer means for the rows of its request. Picklable."""

    def __init__(self, options: HttpOptions, statuses: StatusTable) -> None:
        self._options = options
        self._statuses = statuses

    def judge(self, answer: HttpAnswer, entries: RequestEntries[HttpEntry], redaction: Redaction) -> RequestResult:
        """What became of each of the `entries`.

        :raises RequestError: none is stored, or nobody knows; what the server says is quoted without secrets
        """
        if self._statuses.verdict(answer.status) is Verdict.STORED:
            return RequestResult.OK
        wait_s = retry_after_s(answer.headers)
        message = self._message(answer, redaction)
        if answer.status == HTTPStatus.CONFLICT and self._is_resent(entries):
            raise RequestError(IN_PROGRESS, message, wait_s)
        remedy = self._statuses.remedy(answer.status)
        raise RequestError(str(answer.status), f"{message} {remedy}" if remedy else message, wait_s)

    def _is_resent(self, entries: RequestEntries[HttpEntry]) -> bool:
        """Whether the request was sent before under the same idempotency key.

        A 409 may then speak of that earlier sending, which is still at work (IETF draft idempotency-key-header, 2.6),
        and not of the rows.
        """
        return self._options.idempotency_key and entries.attempt > 1

    def _message(self, answer: HttpAnswer, redaction: Redaction) -> str:
        said = redaction.hide(answer.text)
        quoted = f'; the server says "{said}"' if said else ""
        reason = answer.reason or "no reason given"
        return f"{reason} from {self._options.method} {self._options.shown_url}{quoted}."
