"""What Splunk's HTTP event collector answers of single events."""

from __future__ import annotations

import json
from typing import Any

from asyncsink.failures import Failure, FailureKind
from asyncsink.request import RequestResult
from asyncsink_http.answers.answer import HttpAnswer


def read_hec(answer: HttpAnswer, rows: int) -> RequestResult | None:
    """Which events of a request are not indexed; None for an answer that speaks of the request as a whole.

    The collector reads events one by one and stops at the first that is wrong, which ``invalid-event-number`` names,
    counted from 0: those before it are indexed, and those behind it have not been looked at. To halve the request would
    index the former twice; to count attempts of the latter would give up good events behind many bad ones.

    :raises ValueError: the number is none of an event of this request
    """
    if answer.status != 400 or answer.body.lstrip()[:1] != b"{":
        return None
    told: dict[str, Any] = json.loads(answer.body)
    wrong = told.get("invalid-event-number")
    if wrong is None:
        return None
    if not isinstance(wrong, int) or not 0 <= wrong < rows:
        raise ValueError(f"invalid-event-number = {wrong!r} is none of an event among {rows}")
    unread = Failure(str(answer.status), f"behind event {wrong}, which is wrong", FailureKind.THROTTLED)
    refused = Failure(str(answer.status), f"{told.get('text')} (code {told.get('code')})", FailureKind.REJECTED)
    return RequestResult({wrong: refused, **dict.fromkeys(range(wrong + 1, rows), unread)})
