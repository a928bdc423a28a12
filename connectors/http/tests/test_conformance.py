"""The conformance kit on the wire: every check of it, against a server that misbehaves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from asyncsink_testing import Capabilities, Destination, HttpDestination, HttpRequest, SinkConformance


def rows_in(request: HttpRequest) -> Sequence[bytes]:
    return [json.dumps(row).encode() for row in json.loads(request.body)]


def http_destination() -> AbstractAsyncContextManager[Destination]:
    return HttpDestination.opened(rows_in)


class TestHttp(SinkConformance):
    connector = "http"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="none",
        partial_failure=False,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=True,
        keeps_state=True,
        commits=False,
        max_batch_entries=None,
        max_batch_bytes=None,
        max_record_bytes=None,
        client_modules=("httpx", "httpcore"),
    )

    @pytest.fixture
    def destination(self) -> object:
        return http_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"url": "{endpoint}/rows"}
