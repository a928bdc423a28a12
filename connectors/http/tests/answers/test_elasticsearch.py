"""Answers of _bulk, as Elasticsearch 8 and OpenSearch 2 write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asyncsink import FailureKind, RequestResult
from asyncsink_http import HttpAnswer
from asyncsink_http.answers.elasticsearch import read_bulk

MAPPING = {
    "type": "document_parsing_exception",
    "reason": "failed to parse field [amount]",
    "caused_by": {"type": "illegal_argument_exception", "reason": "not x"},
}
NO_INDEX = {"type": "index_not_found_exception", "reason": "no such index [flihgts]"}
BUSY = {"type": "es_rejected_execution_exception", "reason": "rejected execution of coordinating operation"}


def item(status: int, action: str = "index", error: Any = None) -> dict[str, Any]:
    return {action: {"_index": "flights", "_id": "1", "status": status} | ({"error": error} if error else {})}


def bulk(*items: Any, status: int = 200, **others: Any) -> HttpAnswer:
    body = {"took": 30, "errors": True, "items": list(items), **others}
    return HttpAnswer(status, "OK", {}, json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        b'{"errors":false,"took":200,"items":[{"index":',
        b'{"took":200,"ingest_took":3,"errors":false,"items":[{"index":',
        b' { "took" : 200 , "errors" : false , "items" : [',
        b'{"errors":false}',
        b'{"items":[],"errors":false}',
    ],
)
def test_an_answer_without_errors_stores_every_row_and_only_its_beginning_is_read(body: bytes) -> None:
    assert read_bulk(HttpAnswer(200, "OK", {}, body), 2) is RequestResult.OK


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (item(200), None),
        (item(201), None),
        (item(409, "create"), None),
        (item(404, "delete"), None),
        (item(404, "delete", error=NO_INDEX), FailureKind.REJECTED),
        (item(409), FailureKind.REJECTED),
        (item(409, "update"), FailureKind.RETRYABLE),
        (item(404, "update"), FailureKind.REJECTED),
        (item(400, error=MAPPING), FailureKind.REJECTED),
        (item(413), FailureKind.REJECTED),
        (item(429, error=BUSY), FailureKind.THROTTLED),
        (item(500), FailureKind.RETRYABLE),
        (item(503), FailureKind.RETRYABLE),
        (item(401), FailureKind.FATAL),
        (item(403), FailureKind.FATAL),
    ],
)
def test_each_row_has_a_status_of_its_own(one: dict[str, Any], kind: FailureKind | None) -> None:
    result = read_bulk(bulk(item(201), one, item(201)), 3)
    assert result is not None
    assert {index: each.kind for index, each in result.failed.items()} == ({} if kind is None else {1: kind})


def test_a_failure_says_what_the_server_says_of_it_with_its_cause() -> None:
    result = read_bulk(bulk(item(400, error=MAPPING), item(429, error="busy"), item(500)), 3)
    assert result is not None
    assert [(each.code, each.message) for each in result.failed.values()] == [
        (
            "400",
            "document_parsing_exception: failed to parse field [amount]; caused by illegal_argument_exception: not x",
        ),
        ("429", "busy"),
        ("500", ""),
    ]


def test_text_of_a_row_cannot_pass_for_the_answer() -> None:
    answer = bulk({"index": {"_id": '"errors":false', "status": 400}})
    result = read_bulk(answer, 1)
    assert result is not None
    assert list(result.failed) == [0]


def test_an_error_of_the_whole_request_is_left_to_its_status() -> None:
    for body in (b'{"error":{"reason":"Malformed action"},"status":400}', b"<html>", b""):
        assert read_bulk(HttpAnswer(400, "Bad Request", {}, body), 2) is None


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (bulk(item(201)), "1 items for 2 rows"),
        (bulk(items=None), "no items for 2 rows"),
        (bulk({}, item(201)), "no object of one action"),
        (bulk({"index": {}}, item(201)), "no status; a filter_path must leave items"),
        (bulk({"index": None}, item(201)), "no status"),
        (HttpAnswer(200, "OK", {}, b"{}"), "has no 'errors'"),
        (HttpAnswer(200, "OK", {}, b""), "has no 'errors'"),
        (HttpAnswer(200, "OK", {}, b"<html>hello</html>"), "has no 'errors'"),
        (HttpAnswer(200, "OK", {}, b'{"errors":true,'), "double quotes"),
    ],
)
def test_an_answer_that_does_not_judge_every_row_is_refused(answer: HttpAnswer, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_bulk(answer, 2)
