"""Which service an option names, and a user's own by its import path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
from asyncsink_dynamic_kafka.metadata.http import HttpMetadataService
from asyncsink_dynamic_kafka.metadata.making import make_metadata_service
from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService

SECRET = "hunter2"
PROPERTIES = {"bootstrap.servers": "a:1", "client.id": SECRET}


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.delitem(sys.modules, "user_services", raising=False)


def test_services_are_made_by_their_names() -> None:
    single = make_metadata_service("single-cluster", PROPERTIES, cluster_id="A")
    assert isinstance(single, SingleClusterTopicMetadataService)
    assert single.kafka_cluster_id == "A"
    file = make_metadata_service("file", {}, path="/shared/m.yaml")
    assert isinstance(file, FileMetadataService)
    assert file.path == "/shared/m.yaml"
    http = make_metadata_service("http", {}, url="https://host/m", bearer_token=SECRET)
    assert isinstance(http, HttpMetadataService)
    assert http.url == "https://host/m"


@pytest.mark.parametrize(("name", "kind"), [("Plain", "Plain"), ("made", "Plain"), ("OfProperties", "OfProperties")])
def test_a_users_own_is_found_by_its_import_path(name: str, kind: str) -> None:
    service: Any = make_metadata_service(f"user_services:{name}", PROPERTIES)
    assert type(service).__name__ == kind
    assert getattr(service, "properties", PROPERTIES) == PROPERTIES
    assert anyio.run(service.describe_streams, ["orders", "visits"]).keys() == {"orders"}


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ("single-cluster", r"'single-cluster' needs 'metadataService\.clusterId'"),
        ("file", r"'file' needs 'metadataService\.path'"),
        ("http", r"'http' needs 'metadataService\.url'"),
        ("yaml", "'yaml' must be single-cluster, file, http, or a KafkaMetadataService of your own"),
        ("user_services:Missing", "option 'metadataService': .*Missing.* install or mend it"),
        ("user_services:Mapping", "'user_services:Mapping' cannot be made"),
        ("user_services:annotations", "names no KafkaMetadataService"),
        ("user_services:Failing", "cannot be made of the Kafka properties: LookupError: no table of streams"),
    ],
)
def test_what_names_no_service_is_refused(service: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        make_metadata_service(service, PROPERTIES)
    assert SECRET not in str(caught.value)
