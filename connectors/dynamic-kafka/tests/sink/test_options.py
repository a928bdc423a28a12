"""The options: streams, service, routing, and Flink's names for them."""

from __future__ import annotations

import pytest

from asyncsink import ConfigurationError
from asyncsink_dynamic_kafka import DynamicKafkaOptions
from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSetSubscriber, StreamPatternSubscriber

from .options import FILE, options_of

HTTP = {"metadataService": "http", "metadataService.path": None, "metadataService.url": "https://host/streams"}


def test_flinks_names_are_read() -> None:
    flink = {
        "stream-ids": "orders; payments",
        "metadata-service": "single-cluster",
        "metadata-service.cluster-id": "blue",
        "properties.bootstrap.servers": "b:1",
        "stream-metadata-discovery-interval-ms": "1500",
        "stream-metadata-discovery-failure-threshold": "1",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": "team",
    }
    found = DynamicKafkaOptions.from_options(flink)
    assert found.streams == ("orders", "payments")
    assert (found.metadata_service, found.metadata_service_cluster_id) == ("single-cluster", "blue")
    assert (found.stream_metadata_discovery_interval_s, found.stream_metadata_discovery_failure_threshold) == (1.5, 1)
    assert (found.bootstrap_servers, found.is_transactional, found.transaction_prefix) == ("b:1", True, "team")


@pytest.mark.parametrize(("text", "seconds"), [("-1", 0.0), ("0", 0.0), ("1", 0.001), ("60000", 60.0)])
def test_an_interval_that_is_not_positive_is_off(text: str, seconds: float) -> None:
    found = options_of({"stream-metadata-discovery-interval-ms": text})
    assert found.stream_metadata_discovery_interval_s == seconds


def test_the_metadata_is_refreshed_and_hiccups_are_borne_by_default() -> None:
    found = options_of()
    assert found.stream_metadata_discovery_interval_s == 60.0
    assert found.stream_metadata_discovery_failure_threshold == 10
    assert (found.router, found.on_inactive_cluster, found.removed_cluster_timeout_s) == ("round-robin", "spill", 60.0)


def test_streams_are_subscribed_to_by_ids_or_by_a_pattern() -> None:
    some = options_of({"streamIds": " a, b;a ,"})
    assert some.subscriber == KafkaStreamSetSubscriber(frozenset({"a", "b"}))
    assert (some.streams, some.only_stream) == (("a", "b"), None)
    assert options_of().only_stream == "orders"
    matching = options_of({"streamIds": None, "streamPattern": "orders-.*"})
    assert matching.subscriber == StreamPatternSubscriber("orders-.*")
    assert (matching.streams, matching.only_stream) == ((), None)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"streamIds": None}, "'streamIds'.*'streamPattern', and neither is given"),
        ({"streamPattern": "o.*"}, "'streamIds'.*'streamPattern', and both are given"),
        ({"streamIds": " , "}, "'streamIds' = ' , ' names no stream"),
        ({"streamIds": None, "streamPattern": "("}, r"'streamPattern' = '\(' is no regular expression"),
        ({"topic": "orders"}, "'topic' = 'orders' is not for streams.*use streamIds"),
        ({"topics": "a,b"}, "'topics' = 'a,b' is not for streams"),
        ({"topicPattern": ".*"}, r"'topicPattern' = '\.\*' is not for streams"),
        ({"kafka.bootstrap.servers": "b:1"}, "'bootstrapServers' is for 'metadataService' = 'single-cluster'"),
        ({"metadataService": "fiel"}, "'metadataService' = 'fiel' must be .*did you mean 'file'"),
        ({"metadataService": "http"}, "'metadataService.path' is for 'metadataService' = 'file', and it is 'http'"),
        ({"metadataService": "http", "metadataService.path": None}, "'metadataService.url' is missing"),
        ({"metadataService.path": None}, "'metadataService.path' is missing"),
        ({**HTTP, "metadataService.url": "ftp://host/m"}, "'metadataService.url' = 'ftp://host/m' must be http:// or"),
        ({**HTTP, "metadataService.url": "https://me:s3cret/x@host"}, "'metadataService.url' cannot be read: its host"),
        ({**HTTP, "metadataService.token": "s3cret "}, "'metadataService.token' is no bearer token: that is letters"),
        ({**HTTP, "metadataService.token": ""}, "'metadataService.token' is no bearer token: that is letters"),
        (
            {**HTTP, "metadataService.token": "s3cret", "metadataService.tokenFile": "/run/token"},
            "'metadataService.token' and 'metadataService.tokenFile' are both given; leave one",
        ),
        ({"metadataService.token": "s3cret"}, "'metadataService.token' is for 'metadataService' = 'http'"),
        ({"metadataService.properties.url": "s3cret"}, "are for a service of your own.*'file'"),
        ({"metadataService.timeout": "0"}, "'metadataService.timeout' = 0.0 must be larger than 0"),
        ({"deliveryGuarantee": "none"}, "'deliveryGuarantee' = 'none' must be 'at-least-once' or 'exactly-once'"),
        ({"kafka.acks": "0"}, "'acks' = '0' tells nobody"),
        ({"router": "robin"}, "'router' = 'robin' must be"),
        ({"router": "weighted"}, "'router.weights' is missing"),
        ({"router.weights": "a:1"}, "'router.weights' is for 'router' = 'weighted', and it is 'round-robin'"),
        ({"router": "weighted", "router.weights": "a:x"}, "'router.weights' has the part 'a:x'"),
        ({"router": "weighted", "router.weights": "a:1,a:2"}, "names cluster 'a' twice"),
        ({"router": "weighted", "router.weights": "a:0"}, "cluster 'a' the weight 0; it must be from 1 to 1000"),
        ({"onInactiveCluster": "stop"}, "'onInactiveCluster' = 'stop' must be 'spill' or 'wait' or 'fail'"),
        ({"stream-metadata-removed-cluster-retention-ms": "1"}, "not supported: .*removedClusterTimeout"),
        ({"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "x" * 151}, "has 151 characters"),
        ({"kafka.linger": "1"}, "'kafka.linger' is not known; did you mean 'kafka.linger.ms'"),
    ],
)
def test_what_breaks_a_rule_is_told_without_secrets(changes: dict[str, str | None], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as failure:
        options_of(changes)
    assert "s3cret" not in str(failure.value)


def test_the_one_cluster_must_be_complete() -> None:
    single = {"metadataService": "single-cluster", "metadataService.clusterId": "blue", "metadataService.path": None}
    with pytest.raises(ConfigurationError, match="'bootstrapServers' names no broker"):
        options_of(single)
    with pytest.raises(ConfigurationError, match="'saslMechanism' is missing"):
        options_of({**single, "kafka.bootstrap.servers": "b", "kafka.security.protocol": "SASL_SSL"})
    assert options_of({**single, "kafka.bootstrap.servers": "b"}).bootstrap_servers == "b:9092"


def test_security_may_be_completed_by_clusters() -> None:
    assert options_of({"kafka.security.protocol": "SASL_SSL"}).security_protocol == "SASL_SSL"


def test_what_topics_rows_have_is_no_option_in_the_reference() -> None:
    names = {each.name for each in DynamicKafkaOptions.describe()}
    assert not {"topic", "topics", "topicPattern"} & names
    assert {"streamIds", "metadataService.token", "router.weights", "partitioner"} <= names


def test_no_secret_is_shown() -> None:
    found = options_of(
        {
            "metadataService": "company.streams:Registry",
            "metadataService.path": None,
            "metadataService.properties.password": "s3cret",
            "kafka.sasl.jaas.config": "s3cret",
        }
    )
    assert found.metadata_service_properties == {"password": "s3cret"}
    assert "s3cret" not in repr(found)
    web = {"metadataService": "http", "metadataService.path": None, "metadataService.url": "https://one"}
    assert "s3cret" not in repr(options_of({**web, "metadataService.token": "s3cret"}))


def test_the_fingerprint_is_that_of_the_values() -> None:
    assert options_of().fingerprint() == DynamicKafkaOptions.from_options(FILE).fingerprint()
    assert options_of().fingerprint() != options_of({"router": "sticky"}).fingerprint()
