"""Asks a judge what an answer means, without a client."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from asyncsink import ListBlock, ListRequestEntries, RequestError, RequestResult
from asyncsink_http import HttpAnswer, HttpOptions
from asyncsink_http.answers.judging import AnswerJudge
from asyncsink_http.answers.statuses import StatusTable
from asyncsink_http.entries.entry import HttpEntry
from asyncsink_http.entries.target import Target
from asyncsink_http.redaction import Redaction

OPTIONS: dict[str, Any] = {
    "url": "https://api.example.com/rows?sig=s3cret-query",
    "bearer_token": "s3cret-token",
    "headers": {"X-Api-Key": "s3cret-key"},
}


@dataclass
class Conversation:
    """What a client knows, without one."""

    redaction: Redaction
    in_flight: int = 0


def judge_of(options: Mapping[str, Any]) -> tuple[AnswerJudge, Conversation]:
    resolved = HttpOptions.of(**OPTIONS, **options).resolved()
    judge: AnswerJudge = pickle.loads(pickle.dumps(AnswerJudge(resolved, StatusTable.of(resolved))))
    return judge, Conversation(Redaction(resolved))


def rows(count: int = 1, attempt: int = 1, route: Target | None = None) -> ListRequestEntries[HttpEntry]:
    return ListRequestEntries(ListBlock([b"1"] * count, [1] * count), attempt=attempt, route=route)


def judged(answer: HttpAnswer, *, attempt: int = 1, count: int = 1, **options: Any) -> RequestResult:
    judge, conversation = judge_of(options)
    return judge.judge(answer, rows(count, attempt), conversation)


def refusal_of(answer: HttpAnswer, **options: Any) -> RequestError:
    """What is raised of an answer that stores nothing, or of which nobody knows."""
    with pytest.raises(RequestError) as raised:
        judged(answer, **options)
    return raised.value
