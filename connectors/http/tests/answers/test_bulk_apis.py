"""Bulk APIs on the wire, by their presets: what fails of a request goes again or is given up, row by row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest

from asyncsink import FatalRequestError, read_dead_letters
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

from .elasticsearch_fake import operations

pytestmark = pytest.mark.anyio

QUICK = {"retry.initialBackoff": "1ms", "retry.maxBackoff": "5ms", "maxBatchSize": "10", "maxInFlightRequests": "1"}


class Index:
    """Documents by id, of an index that refuses some and is busy now and then."""

    def __init__(self, bad: Set[int] = frozenset(), busy: int = 0) -> None:
        self.documents: dict[int, Any] = {}
        self.stored = Counter[int]()
        self._bad, self._busy = bad, busy

    def __call__(self, request: HttpRequest) -> Reaction:
        items = [self._item(action, document) for action, document in operations(request)]
        body = {"took": 1, "errors": any(each["index"]["status"] > 299 for each in items), "items": items}
        return Reaction(body=json.dumps(body).encode())

    def _item(self, action: dict[str, Any], document: bytes) -> dict[str, Any]:
        number = action["index"]["_id"]
        if number in self._bad:
            error = {"type": "document_parsing_exception", "reason": f"of s3cret-token {number}"}
            return {"index": {"status": 400, "error": error}}
        if self._busy:
            self._busy -= 1
            return {"index": {"status": 429}}
        self.documents[number] = json.loads(document)
        self.stored[number] += 1
        return {"index": {"status": 201}}


def bulk(server: FaultyHttpServer, **options: str) -> HttpSink:
    url = {"url": f"{server.url}/_bulk", "preset": "elasticsearch", "preset.id": "{id}", "preset.index": "flights"}
    return HttpSink.from_options({**url, **QUICK, **options})


async def write(sink: HttpSink, count: int) -> None:
    async with sink.open() as writer:
        await writer.write_many([{"id": number, "city": "ä\n"} for number in range(count)])


async def test_of_a_bulk_request_only_what_failed_goes_again(tmp_path: Path) -> None:
    index = Index(bad={3, 14}, busy=4)
    async with FaultyHttpServer(index) as server:
        sink = bulk(server, bearerToken="s3cret-token", **{"deadLetter.path": str(tmp_path), "maxRejected": "1"})
        await write(sink, 20)
    good = set(range(20)) - {3, 14}
    assert index.stored == Counter(good)
    assert index.documents == {number: {"id": number, "city": "ä\n"} for number in good}
    letters = read_dead_letters(tmp_path)
    assert sorted(each.message for each in letters) == [
        "document_parsing_exception: of *** 14",
        "document_parsing_exception: of *** 3",
    ]


async def test_an_answer_that_is_none_of_bulk_loses_no_row() -> None:
    async with FaultyHttpServer(lambda request: Reaction(body=b"<html>hello</html>")) as server:
        with pytest.raises(FatalRequestError, match="cannot be read by itemResults=elasticsearch"):
            async with bulk(server).open() as writer:
                await writer.write({"id": 1})
    assert len(writer.snapshot_state()[0].entries) == 1


async def test_splunk_stores_every_good_event_once_however_many_are_wrong(tmp_path: Path) -> None:
    stored: list[int] = []

    def collector(request: HttpRequest) -> Reaction:
        assert request.headers["authorization"] == "Splunk abc"
        for place, line in enumerate(request.body.split(b"\n")):
            number = json.loads(line)["event"]["id"]
            if number % 2:
                told = {"text": "Invalid data format", "code": 6, "invalid-event-number": place}
                return Reaction(status=400, body=json.dumps(told).encode())
            stored.append(number)
        return Reaction(body=b'{"text":"Success","code":0}')

    async with FaultyHttpServer(collector) as server:
        options = {"url": f"{server.url}/services/collector/event", "preset": "splunk-hec", "bearerToken": "abc"}
        dead = {"deadLetter.path": str(tmp_path), "maxRejected": "1", "retry.maxAttempts": "2"}
        sink = HttpSink.from_options({**options, **QUICK, **dead, "maxBatchSize": "30"})
        await write(sink, 30)
    assert Counter(stored) == Counter(range(0, 30, 2))
    letters = read_dead_letters(tmp_path)
    assert Counter(each.message for each in letters) == {"Invalid data format (code 6)": 15}
