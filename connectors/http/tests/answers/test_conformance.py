"""The conformance kit against an API that judges each row: Elasticsearch's, by its preset."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from asyncsink_testing import Capabilities, Destination, HttpDestination, SinkConformance

from .elasticsearch_fake import answers, documents


def index() -> AbstractAsyncContextManager[Destination]:
    return HttpDestination.opened(documents, answers())


class TestElasticsearch(SinkConformance):
    connector = "http"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="none",
        partial_failure=True,
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
        return index

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"url": "{endpoint}/flights/_bulk", "preset": "elasticsearch", "preset.id": "{id}"}
