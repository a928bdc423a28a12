"""What a cluster's own properties make of the sink's options."""

from __future__ import annotations

import re
import traceback

import pytest

from asyncsink_dynamic_kafka import MetadataError
from asyncsink_kafka import KafkaOptions, KafkaSink

from .options import cluster_of, options_of

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{0}" password="{1}";'
LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": JAAS.format("alice", "s3cret"),
}


def test_a_cluster_without_properties_has_the_sinks() -> None:
    kafka = {"kafka.compression.type": "zstd", "kafka.client.id": "etl", "partitioner": "fixed", "kafka.acks": "all"}
    found = options_of(kafka).for_cluster(cluster_of({}))
    assert found == KafkaOptions.from_options({**kafka, "kafka.bootstrap.servers": "blue:9092"})


def test_properties_of_the_cluster_win() -> None:
    options = options_of({"kafka.client.id": "etl", "kafka.compression.type": "zstd"})
    found = options.for_cluster(cluster_of({**LOGIN, "client.id": "blue-etl", "metadata.max.age.ms": "1500"}))
    assert (found.client_id, found.compression, found.metadata_max_age_s) == ("blue-etl", "zstd", 1.5)
    assert (found.security_protocol, found.sasl_mechanism) == ("SASL_SSL", "PLAIN")
    assert (found.sasl_username, found.sasl_password) == ("alice", "s3cret")


def test_limits_of_the_cluster_win() -> None:
    options, config = options_of(), KafkaSink.defaults
    found = options.config_for_cluster(cluster_of({"linger.ms": "70", "delivery.timeout.ms": "9000"}), config)
    assert (found.max_time_in_buffer_s, found.retry.timeout_s) == (0.07, 9.0)
    assert found.request_timeout_s == config.request_timeout_s
    assert options.config_for_cluster(cluster_of({}), config) == config


def test_a_cluster_may_complete_the_login_of_the_sink() -> None:
    options = options_of({f"kafka.{key}": value for key, value in LOGIN.items() if key != "security.protocol"})
    found = options.for_cluster(cluster_of({"security.protocol": "SASL_SSL"}))
    assert (found.sasl_username, found.sasl_password) == ("alice", "s3cret")


def test_a_cluster_may_log_in_as_somebody_else() -> None:
    given = {"kafka.security.protocol": "SASL_SSL", "saslMechanism": "PLAIN"}
    options = options_of({**given, "saslUsername": "bob", "saslPassword": "hidden"})
    found = options.for_cluster(cluster_of({"sasl.jaas.config": LOGIN["sasl.jaas.config"]}))
    assert (found.sasl_username, found.sasl_password) == ("alice", "s3cret")


def test_a_cluster_in_plain_text_leaves_out_credentials_and_authorities() -> None:
    kafka = {f"kafka.{key}": value for key, value in LOGIN.items()}
    options = options_of({**kafka, "kafka.ssl.truststore.location": "/etc/ca.pem"})
    plain = options.for_cluster(cluster_of({"security.protocol": "PLAINTEXT"}))
    assert plain == KafkaOptions.from_options({"kafka.bootstrap.servers": "blue:9092"})
    tls = options.for_cluster(cluster_of({"security.protocol": "SSL"}))
    assert (tls.ssl_truststore_location, tls.sasl_jaas_config) == ("/etc/ca.pem", None)


def test_credentials_that_no_protocol_uses_are_no_secret_mistake() -> None:
    options = options_of({"kafka.sasl.jaas.config": LOGIN["sasl.jaas.config"]})
    with pytest.raises(MetadataError, match="'saslJaasConfig' is given, and 'securityProtocol' = 'PLAINTEXT'"):
        options.for_cluster(cluster_of({}))


def test_a_level_counts_beside_the_codec_of_either() -> None:
    gzip = options_of({"kafka.compression.type": "gzip", "kafka.compression.gzip.level": "3"})
    assert gzip.for_cluster(cluster_of({"compression.gzip.level": "7"})).compression_level == 7
    other = gzip.for_cluster(cluster_of({"compression.type": "lz4"}))
    assert (other.compression, other.compression_level) == ("lz4", None)


def test_settings_of_consumers_in_shared_metadata_do_no_harm() -> None:
    found = options_of().for_cluster(cluster_of({"group.id": "app", "auto.offset.reset": "earliest"}))
    assert found == options_of().for_cluster(cluster_of({}))


def test_ids_of_transactions_name_the_cluster() -> None:
    options = options_of({"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "team"})
    assert options.for_cluster(cluster_of({})).transaction_prefix == "team-blue"
    names = ["blue µ", "blue ß", "b" * 40, "b" * 41, "b" * 42]
    prefixes = [options.for_cluster(cluster_of({}, name)).transaction_prefix for name in names]
    assert len({*prefixes}) == len(names)
    assert all(re.fullmatch(r"team-[A-Za-z0-9._-]{1,40}", each) for each in prefixes)
    default = options_of({"deliveryGuarantee": "exactly-once"}).for_cluster(cluster_of({}))
    assert default.transaction_prefix == "asyncsink-blue"


@pytest.mark.parametrize(
    ("properties", "told", "hidden"),
    [
        ({"sasl.jaas": "s3cret"}, r"\(sasl.jaas\).*'sasl.jaas' is not known; did you mean", "s3cret"),
        ({"foo": "s3cret"}, "'foo' is not known: Java's producer has no such setting", "s3cret"),
        ({"linger.ms": "soon"}, r"\(linger.ms\).*'linger.ms' = \*\*\* must be a duration", "soon"),
        ({"acks": "0"}, r"\(acks\).*'acks' = \*\*\* tells nobody", "'0'"),
        ({"security.protocol": "SASL_SLL"}, r"'security.protocol' = \*\*\* must be .*'SASL_SSL'", "SASL_SLL"),
        ({**LOGIN, "sasl.mechanism": "GSSAPI"}, r"'saslMechanism' = \*\*\* does not fit PlainLoginModule", "GSSAPI"),
        (
            {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.3,TLSv9"},
            r"'sslEnabledProtocols' names \*\*\*; write for example TLSv1.2,TLSv1.3",
            "TLSv9",
        ),
        ({"interceptor.classes": "com.acme.Secret"}, "'interceptor.classes' is not supported", "Secret"),
        ({"transactional.id": "s3cret"}, "'transactional.id' is not supported", "s3cret"),
        ({"compression.type": "brotli"}, r"'compression.type' = \*\*\* must be 'none' or", "brotli"),
    ],
)
def test_a_property_that_cannot_be_used_is_told_without_its_value(
    properties: dict[str, str], told: str, hidden: str
) -> None:
    with pytest.raises(MetadataError, match=f"cluster 'blue' cannot be written to.*{told}") as failure:
        options_of().for_cluster(cluster_of(properties))
    shown = "".join(traceback.format_exception(failure.value.with_traceback(None)))
    assert hidden not in shown


def test_limits_that_do_not_fit_are_told_with_the_cluster() -> None:
    options = options_of()
    with pytest.raises(MetadataError, match=r"cluster 'blue'.*\(buffer.memory\)"):
        options.config_for_cluster(cluster_of({"buffer.memory": "0"}), KafkaSink.defaults)
