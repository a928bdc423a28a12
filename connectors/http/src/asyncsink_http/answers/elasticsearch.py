"""What ``_bulk`` of Elasticsearch and OpenSearch answers for each row."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from asyncsink.failures import Failure, FailureKind
from asyncsink.request import RequestResult
from asyncsink_http.answers.answer import HttpAnswer

# A dozen bytes say that all is well; the rest of the answer, 100 to 200 bytes a row, is not looked at then.
_NO_ERRORS: Final = re.compile(rb'\s*\{(?:\s*"(?:took|ingest_took)"\s*:\s*\d+\s*,)*\s*"errors"\s*:\s*false\b')

_KINDS: Final[Mapping[int, FailureKind]] = {
    429: FailureKind.THROTTLED,
    401: FailureKind.FATAL,
    403: FailureKind.FATAL,
}


def read_bulk(answer: HttpAnswer, rows: int) -> RequestResult | None:
    """Which rows of a bulk request are not stored; None for an answer that is an error as a whole.

    A document that ``create`` finds there is stored, and one that ``delete`` does not find is gone: whoever sends rows
    again must expect it.

    :raises ValueError: the answer does not tell it of so many rows
    """
    if _NO_ERRORS.match(answer.body):
        return RequestResult.OK
    told = json.loads(answer.body) if answer.body.lstrip()[:1] == b"{" else {}
    if "errors" not in told and "items" not in told:
        if answer.status < 300:
            raise ValueError("the answer has no 'errors', as every answer of _bulk has")
        return None
    if told.get("errors") is False:
        return RequestResult.OK
    items = told.get("items")
    if not isinstance(items, list) or len(items) != rows:
        found = len(items) if isinstance(items, list) else "no"
        raise ValueError(f"the answer has {found} items for {rows} rows")
    failures = {index: _failure(item) for index, item in enumerate(items)}
    return RequestResult({index: failure for index, failure in failures.items() if failure is not None})


def _failure(item: Any) -> Failure | None:
    """What became of one row, in an object whose only key is the action."""
    if not isinstance(item, dict) or len(item) != 1:
        raise ValueError("an item of the answer is no object of one action")
    [(action, result)] = item.items()
    status = result.get("status") if isinstance(result, dict) else None
    if not isinstance(status, int):
        raise ValueError("an item of the answer has no status; a filter_path must leave items.*.status in")
    error = result.get("error")
    if status < 300 or _is_as_wanted(action, status, error):
        return None
    return Failure(str(status), _reason(error), _kind(action, status))


def _is_as_wanted(action: str, status: int, error: Any) -> bool:
    """Whether a document is there already, or gone already; an index that is not there is an error of a delete."""
    return (action, status) == ("create", 409) or (action == "delete" and status == 404 and error is None)


def _kind(action: str, status: int) -> FailureKind:
    if (action, status) == ("update", 409):
        # Another request has changed the document between reading and writing it, perhaps one of ours.
        return FailureKind.RETRYABLE
    return _KINDS.get(status, FailureKind.REJECTED if status < 500 else FailureKind.RETRYABLE)


def _reason(error: Any) -> str:
    """Type and reason of an error, with what caused it: the reason of a mapping's error is only told there."""
    if not isinstance(error, dict):
        return "" if error is None else str(error)
    said = ": ".join(str(error[name]) for name in ("type", "reason") if error.get(name))
    caused = _reason(error.get("caused_by"))
    return f"{said}; caused by {caused}" if said and caused else said or caused
