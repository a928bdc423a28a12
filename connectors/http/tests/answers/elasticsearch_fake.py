"""An index of Elasticsearch, as far as _bulk shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from asyncsink_testing import HttpAnswers, HttpRequest, Reaction
from asyncsink_testing.faults import Fault

_ERRORS: Mapping[Fault, tuple[int, str]] = {
    Fault.PARTLY_THROTTLED: (429, "es_rejected_execution_exception"),
    Fault.PARTLY_FAILED: (503, "unavailable_shards_exception"),
    Fault.POISONED: (400, "document_parsing_exception"),
}


def operations(request: HttpRequest) -> list[tuple[dict[str, Any], bytes]]:
    """The actions of a bulk request, each with its document; a body that is none ends the server."""
    *lines, end = request.body.split(b"\n")
    assert end == b""
    assert request.path.endswith("/_bulk")
    assert request.headers["content-type"] == "application/x-ndjson"
    return [(json.loads(action), document) for action, document in zip(lines[::2], lines[1::2], strict=True)]


def documents(request: HttpRequest) -> Sequence[bytes]:
    return [document for _, document in operations(request)]


def _answer(request: HttpRequest, failed: Mapping[int, Fault]) -> Reaction:
    items = []
    for row, (action, _) in enumerate(operations(request)):
        [(name, target)] = action.items()
        result: dict[str, Any] = {"_index": "flights", **target, "status": 201}
        if row in failed:
            status, kind = _ERRORS[failed[row]]
            result |= {"status": status, "error": {"type": kind, "reason": f"of row {row}"}}
        items.append({name: result})
    body = json.dumps({"took": 3, "errors": bool(failed), "items": items}, separators=(",", ":")).encode()
    return Reaction(body=body, headers={"Content-Type": "application/json"})


def answers() -> HttpAnswers:
    """What the index says to each request, for a destination of the checks."""
    return HttpAnswers(stored=lambda request: _answer(request, {}), partly=_answer)
