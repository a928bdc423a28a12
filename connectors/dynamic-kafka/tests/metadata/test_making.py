"""Which service options name, and a user's own by its import path."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
from asyncsink_dynamic_kafka.metadata.http import HttpMetadataService
from asyncsink_dynamic_kafka.metadata.making import load_metadata_service, make_metadata_service
from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService
from asyncsink_dynamic_kafka.options import DynamicKafkaOptions
from asyncsink_kafka.sink import KafkaSink
from asyncsink_testing.kafka import MockCluster

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.delitem(sys.modules, "user_services", raising=False)


def made(service: str, **options: str) -> Any:
    given = {f"metadataService.{name}": value for name, value in options.items()}
    read = DynamicKafkaOptions.from_options({"streamIds": "orders", "metadataService": service, **given})
    return make_metadata_service(read, KafkaSink.defaults)


def test_services_are_made_by_their_names() -> None:
    file = made("file", path="/shared/m.yaml")
    assert isinstance(file, FileMetadataService)
    assert file.path == "/shared/m.yaml"
    http = made("http", url="https://host/m", token=SECRET, timeout="45s")
    assert isinstance(http, HttpMetadataService)
    # No less than the whole answer may take: a server that thinks for long is waited for.
    assert (http.url, http.timeout_s) == ("https://host/m", 45.0)


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_the_single_cluster_is_asked_with_the_sinks_own_properties(guarantee: str) -> None:
    with MockCluster(topics={"orders": 1}) as cluster:
        options = DynamicKafkaOptions.from_options(
            {
                "streamIds": "orders",
                "metadataService": "single-cluster",
                "metadataService.clusterId": "A",
                "kafka.bootstrap.servers": cluster.bootstrap,
                "kafka.client.id": "mine",
                "deliveryGuarantee": guarantee,
            }
        )
        service = pickle.loads(pickle.dumps(make_metadata_service(options, KafkaSink.defaults)))
        assert isinstance(service, SingleClusterTopicMetadataService)
        stream = anyio.run(service.describe_streams, ["orders"])["orders"]
    # Nothing of its own: a writer that begins while the cluster does not answer needs no properties for it.
    assert stream.cluster_metadata_map["A"].properties == {"bootstrap.servers": cluster.bootstrap}


def test_without_a_service_the_option_is_named() -> None:
    options = DynamicKafkaOptions.from_options({"streamIds": "orders"})
    with pytest.raises(ConfigurationError, match="option 'metadataService' is missing"):
        make_metadata_service(options, KafkaSink.defaults)


@pytest.mark.parametrize("name", ["OneStream", "made"])
def test_a_users_own_is_found_by_its_import_path(name: str) -> None:
    service = made(f"user_services:{name}")
    assert type(service).__name__ == "OneStream"
    assert service.properties is None
    assert anyio.run(service.describe_streams, ["orders", "visits"]).keys() == {"orders"}


def test_a_users_own_is_given_its_properties() -> None:
    service = made("user_services:NeedsRegion", **{"properties.region": "eu"})
    assert service.properties == {"region": "eu"}


@pytest.mark.parametrize(
    ("path", "properties", "told"),
    [
        ("user_services:Missing", {}, "option 'metadataService': .*Missing.* install or mend it"),
        ("user_services:NeedsRegion", {}, r"cannot be made of no metadataService\.properties\.\*: TypeError"),
        ("user_services:NeedsRegion", {"key": SECRET}, r"of the metadataService\.properties\.\*: KeyError: 'region'"),
        ("user_services:annotations", {}, "'user_services:annotations' names no KafkaMetadataService"),
        ("collections:OrderedDict", {}, "'collections:OrderedDict' names no KafkaMetadataService"),
    ],
)
def test_what_is_no_service_is_refused(path: str, properties: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        load_metadata_service(path, properties)
    assert SECRET not in str(caught.value)
