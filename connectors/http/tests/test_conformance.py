"""The conformance kit on the wire: every check of it, against servers that misbehave."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
import trustme

from asyncsink_testing import Capabilities, Destination, HttpDestination, HttpRequest, SinkConformance

from .answers.elasticsearch_fake import answers, documents
from .real_server import RealServer

OpenDestination = Callable[[], AbstractAsyncContextManager[Destination]]


def rows_in(request: HttpRequest) -> Sequence[bytes]:
    return [json.dumps(row).encode() for row in json.loads(request.body)]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


class HttpConformance(SinkConformance):
    """What is the same over every server."""

    __test__ = False
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
        client_modules=("aiohttp", "h2", "httpcore", "httpx"),
    )


class TestHttp(HttpConformance):
    """The kit's own server, which can do all that the checks ask for."""

    @pytest.fixture
    def destination(self) -> OpenDestination:
        return partial(HttpDestination.opened, rows_in)

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"url": "{endpoint}/rows"}


class RealConformance(HttpConformance):
    """hypercorn: the bytes of a server that is not ours."""

    __test__ = False
    protocol: ClassVar[str] = "http/1.1"
    options: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture
    def destination(self) -> OpenDestination:
        return partial(HttpDestination.opened, rows_in, server=RealServer)

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"url": "{endpoint}/rows", **self.options}


class TlsConformance(RealConformance):
    """The same behind a certificate of an authority that only the options name."""

    __test__ = False

    @pytest.fixture
    def destination(self, authority: trustme.CA) -> OpenDestination:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        context.set_alpn_protocols([self.protocol])
        return partial(HttpDestination.opened, rows_in, server=partial(RealServer, context=context))

    @pytest.fixture
    def sink_options(self, authority: trustme.CA, tmp_path: Path) -> Mapping[str, str]:
        path = tmp_path / "authority.pem"
        authority.cert_pem.write_to_path(str(path))
        return {"url": "{endpoint}/rows", "tls.caFile": str(path), **self.options}


class TestHttpTls(TlsConformance):
    """HTTP/1.1 over TLS."""


class TestHttp2(TlsConformance):
    """HTTP/2 over TLS, by ALPN."""

    protocol = "h2"
    options: ClassVar[Mapping[str, str]] = {"httpVersion": "2"}


@pytest.mark.nightly
class TestHttpReal(RealConformance):
    """HTTP/1.1 in the clear."""


@pytest.mark.nightly
class TestHttp2Cleartext(RealConformance):
    """HTTP/2 with prior knowledge."""

    options: ClassVar[Mapping[str, str]] = {"httpVersion": "2"}


@pytest.mark.nightly
class TestAiohttp(RealConformance):
    """The other client."""

    options: ClassVar[Mapping[str, str]] = {"transport": "aiohttp"}


class TestElasticsearch(HttpConformance):
    """An API that judges each row: Elasticsearch's, by its preset."""

    capabilities = replace(HttpConformance.capabilities, partial_failure=True)

    @pytest.fixture
    def destination(self) -> OpenDestination:
        return partial(HttpDestination.opened, documents, answers())

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"url": "{endpoint}/flights/_bulk", "preset": "elasticsearch", "preset.id": "{id}"}
