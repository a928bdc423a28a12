"""The reference metadata service of the demo, asked by the client that sinks ask with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import anyio
import pytest
from anyio.to_thread import run_sync

from asyncsink_dynamic_kafka import HttpMetadataService, KafkaStream, MetadataUnavailableError

DEMO = Path(__file__).resolve().parents[1] / "demo"


def document(*topics: str) -> dict[str, Any]:
    return {"version": 1, "streams": {"orders": {"clusters": {"A": {"bootstrapServers": "a:1", "topics": [*topics]}}}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "streams.json"
    found.write_text(json.dumps(document("orders")))
    return found


@contextmanager
def serving(file: Path, monkeypatch: pytest.MonkeyPatch, token: str | None = None) -> Iterator[str]:
    monkeypatch.syspath_prepend(str(DEMO))
    from dynamic_kafka import metadata_server

    with metadata_server.serving(file, token) as url:
        yield url


async def described(service: HttpMetadataService) -> KafkaStream:
    return (await service.describe_streams(["orders"]))["orders"]


def topics(stream: KafkaStream) -> frozenset[str]:
    return stream.cluster_metadata_map["A"].topics


def test_a_sink_reads_what_the_file_says_and_again_when_it_was_replaced(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(url: str) -> list[frozenset[str]]:
        service = HttpMetadataService(url)
        seen = [topics(await described(service)), topics(await described(service))]
        await run_sync(file.write_text, json.dumps(document("orders", "orders-large")))
        seen.append(topics(await described(service)))
        await service.aclose()
        return seen

    with serving(file, monkeypatch) as url:
        seen = anyio.run(read, url)
    assert seen == [{"orders"}, {"orders"}, {"orders", "orders-large"}]


def test_who_has_the_document_already_is_not_sent_it_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file, monkeypatch) as url:
        with urlopen(url) as first:
            etag = first.headers["ETag"]
            assert json.load(first) == document("orders")
        with pytest.raises(HTTPError) as same:
            urlopen(Request(url, headers={"If-None-Match": etag}))
        same.value.close()
        file.write_text(json.dumps(document("orders-large")))
        with urlopen(Request(url, headers={"If-None-Match": etag})) as changed:
            assert changed.headers["ETag"] != etag
    assert same.value.code == 304


@pytest.mark.parametrize("sent", [None, "another"])
def test_who_does_not_send_the_token_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch, sent: str | None) -> None:
    async def read(url: str, token: str | None) -> frozenset[str]:
        service = HttpMetadataService(url, bearer_token=token)
        try:
            return topics(await described(service))
        finally:
            await service.aclose()

    with serving(file, monkeypatch, token="expected") as url:
        with pytest.raises(MetadataUnavailableError, match="answers HTTP 401; check the bearer token"):
            anyio.run(read, url, sent)
        assert anyio.run(read, url, "expected") == {"orders"}


@pytest.mark.parametrize("content", [None, "{", b"\xff"])
def test_a_file_that_cannot_be_read_makes_the_service_unavailable(
    file: Path, monkeypatch: pytest.MonkeyPatch, content: str | bytes | None
) -> None:
    file.unlink()
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with serving(file, monkeypatch) as url, pytest.raises(HTTPError) as refused:
        urlopen(url)
    refused.value.close()
    assert refused.value.code == 503


def test_only_the_path_of_the_streams_is_served(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file, monkeypatch) as url, pytest.raises(HTTPError) as refused:
        urlopen(url.replace("/streams", "/"))
    refused.value.close()
    assert refused.value.code == 404
