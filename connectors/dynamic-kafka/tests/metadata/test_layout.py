"""Both layouts, and what is wrong with a document: the place is named, and no value of a property."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from asyncsink_dynamic_kafka import ClusterMetadata, KafkaStream, MetadataError
from asyncsink_dynamic_kafka.metadata.layout import read_layout
from asyncsink_dynamic_kafka.metadata.parsing import parse_json, parse_yaml

FLINKS = """
- streamId: stream0
  clusterMetadataList:
    - clusterId: cluster0
      bootstrapServers: bootstrap-server-0:443
      topics:
        - topic0
        - topic1
    - bootstrapServers: bootstrap-server-1:443
      topics:
        - topic2
- streamId: stream1
  clusterMetadataList:
    - clusterId: cluster2
      bootstrapServers: bootstrap-server-2:443
      topics: [topic4]
"""
SECRET = "hunter2"


def metadata(servers: str, *topics: str, **more: str) -> ClusterMetadata:
    return ClusterMetadata(frozenset(topics), {"bootstrap.servers": servers, **more})


def test_flinks_own_file_is_read() -> None:
    document = read_layout(parse_yaml(FLINKS.encode()))
    first, second = "bootstrap-server-0:443", "bootstrap-server-1:443"
    assert document.streams == {
        "stream0": KafkaStream(
            "stream0", {"cluster0": metadata(first, "topic0", "topic1"), second: metadata(second, "topic2")}
        ),
        "stream1": KafkaStream("stream1", {"cluster2": metadata("bootstrap-server-2:443", "topic4")}),
    }
    assert [document.is_active(name) for name in ("cluster0", second, "cluster1")] == [True, True, False]


def ours(**cluster: Any) -> dict[str, Any]:
    fields = {"bootstrapServers": "a:1", "topics": ["orders"]} | cluster
    return {"version": 1, "streams": {"orders": {"clusters": {"A": fields}}}}


@pytest.mark.parametrize("parse", [parse_json, parse_yaml])
def test_our_own_layout_is_read_from_json_and_from_yaml(parse: Any) -> None:
    properties = {"security.protocol": "SSL", "linger.ms": 5, "enable.idempotence": True}
    document = read_layout(parse(json.dumps(ours(properties=properties, active=False)).encode()))
    more = {"security.protocol": "SSL", "linger.ms": "5", "enable.idempotence": "true"}
    assert document.streams == {"orders": KafkaStream("orders", {"A": metadata("a:1", "orders", **more)})}
    assert not document.is_active("A")
    assert document.describe(["orders", "visits"]) == document.streams
    assert pickle.loads(pickle.dumps(document)) == document


def without(name: str) -> dict[str, Any]:
    found = ours()
    del found["streams"]["orders"]["clusters"]["A"][name]
    return found


def of_flink(**cluster: Any) -> list[Any]:
    fields = {"clusterId": "A", "bootstrapServers": "a:1", "topics": ["orders"]} | cluster
    return [{"streamId": "orders", "clusterMetadataList": [fields]}]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(None, "document is of type NoneType", id="empty"),
        pytest.param("<html>", "document is of type str; write a mapping with 'version', 'streams'", id="html"),
        pytest.param({"streams": {}}, "document has no field 'version'", id="no-version"),
        pytest.param({"version": 2, "streams": {}}, "'version' = 2, and this release reads 1", id="newer"),
        pytest.param({"version": True, "streams": {}}, "'version' is of type bool", id="no-number"),
        pytest.param({"version": 1, "streams": []}, "'streams' is of type list", id="list-of-streams"),
        pytest.param({"version": 1, "streams": {7: {}}}, "'streams' has the name 7; .* quote it", id="number-for-id"),
        pytest.param({"version": 1, "streams": {"a": {}}}, "stream 'a' has no field 'clusters'", id="no-clusters"),
        pytest.param(ours(topcis=[]), "stream 'orders', cluster 'A' has the field 'topcis'.*'topics'", id="misspelt"),
        pytest.param(without("topics"), "cluster 'A' has no field 'topics'", id="no-topics"),
        pytest.param(without("bootstrapServers"), "cluster 'A' has no field 'bootstrapServers'", id="no-servers"),
        pytest.param(ours(topics="orders"), "'topics' is of type str, and must be a list", id="bare-topic"),
        pytest.param(ours(topics=[1]), "each of 'topics' must be a string", id="number-for-topic"),
        pytest.param(ours(active="no"), "'active' is of type str, and must be true or false", id="word-for-boolean"),
        pytest.param(ours(properties={"sasl.password": [SECRET]}), r"'sasl\.password' is of type list", id="property"),
        pytest.param(ours(properties={"bootstrap.servers": "b:1"}), "write it as 'bootstrapServers'", id="two-servers"),
        pytest.param(of_flink(version=1), "cluster number 1 has the field 'version'", id="flink-field"),
        pytest.param([{"clusterMetadataList": []}], "stream number 1 has no field 'streamId'", id="flink-no-id"),
        pytest.param(of_flink() + of_flink(), "stream 'orders' is there twice", id="flink-stream-twice"),
        pytest.param(
            [{"streamId": "s", "clusterMetadataList": of_flink()[0]["clusterMetadataList"] * 2}],
            "stream 's', cluster 'A' is there twice",
            id="flink-cluster-twice",
        ),
        pytest.param(
            [*of_flink(), {**of_flink(active=False)[0], "streamId": "visits"}],
            "stream 'visits', cluster 'A' has another 'active'",
            id="half-active",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_place(content: Any, told: str) -> None:
    with pytest.raises(MetadataError, match=told) as caught:
        read_layout(content)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("parse", "text", "told"),
    [
        (parse_json, '{"a": "hunter2"', r"no JSON: .* at line 1, column 16"),
        (parse_json, '{"a": 1, "a": "hunter2"}', "the name 'a' is there twice"),
        (parse_json, b'"hunter2 \xff"', "no JSON: byte 9 is no UTF-8"),
        (parse_json, "", "no JSON"),
        (parse_yaml, "a: 'hunter2", "no YAML: .* at line 1, column 12"),
        (parse_yaml, "a: 1\na: hunter2", "the name 'a' is there twice"),
        (parse_yaml, "a: !!python/object/apply:os.system [hunter2]", "no YAML: .* line 1, column 4"),
        (parse_yaml, b"a: hunter2 \xff", "no YAML: it holds characters"),
    ],
)
def test_what_cannot_be_parsed_is_told_by_line_and_without_its_text(parse: Any, text: str | bytes, told: str) -> None:
    with pytest.raises(MetadataError, match=told) as caught:
        parse(text if isinstance(text, bytes) else text.encode())
    assert SECRET not in f"{caught.value} {caught.value.__cause__!r}"
