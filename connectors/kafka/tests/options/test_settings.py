"""Settings of Java's producer: every one is known, and each does what Java means by it, or says why not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from asyncsink import ConfigurationError, WriterOptions
from asyncsink.options import folded, parse_options
from asyncsink.options.fields import option_fields
from asyncsink_kafka import KafkaSink
from asyncsink_kafka.options import KafkaOptions, properties
from asyncsink_kafka.options.foreign_settings import BARE
from asyncsink_kafka.options.producer_settings import KNOWN, SETTINGS
from asyncsink_kafka.options.properties import translated
from asyncsink_kafka.options.settings import Setting

BECOMES = [each for each in SETTINGS.values() if each.option is not None]
IDLE = [each for each in SETTINGS.values() if each.option is None and each.harmless is None]
REFUSED = [each for each in SETTINGS.values() if each.option is None and each.harmless is not None]


def names(file: str) -> list[str]:
    lines = (Path(__file__).parent / file).read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def refusal(options: dict[str, str]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        translated(options)
    return str(caught.value)


def test_a_task_does_not_load_the_table_for_the_options_that_it_is_sent() -> None:
    sent = pickle.dumps(KafkaOptions.of(bootstrap_servers="one:9092"))
    code = f"import pickle, sys; pickle.loads({sent!r}); print(*sys.modules, sep=chr(10))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "asyncsink_kafka.options.kafka_options" in loaded
    assert "asyncsink_kafka.options.producer_settings" not in loaded


def test_every_setting_of_javas_clients_stands_in_the_table() -> None:
    assert len(names("producer_settings.txt")) > 100
    assert set(KNOWN) == set(names("producer_settings.txt"))
    assert {each.name for each in SETTINGS.values()} - set(KNOWN) == set(names("consumer_settings.txt"))


EXAMPLES: dict[str, tuple[str, str | None]] = {
    "bootstrap.servers": ("one:9092,two:9092", "one:9092,two:9092"),
    "client.id": ("spark", "spark"),
    "acks": ("-1", "all"),
    "enable.idempotence": ("false", "false"),
    "compression.type": ("zstd", "zstd"),
    "compression.gzip.level": ("6", "6"),
    "compression.lz4.level": ("9", "9"),
    "compression.zstd.level": ("-1", "-1"),
    "partitioner.class": ("org.apache.kafka.clients.producer.RoundRobinPartitioner", "round-robin"),
    "partitioner.ignore.keys": ("true", "sticky"),
    "batch.size": ("16384", "16384"),
    "linger.ms": ("5", "0.005"),
    "buffer.memory": ("33554432", "33554432"),
    "max.request.size": ("5242880", "5242880"),
    "request.timeout.ms": ("30000", "30.0"),
    "delivery.timeout.ms": ("120000", "120.0"),
    "retry.backoff.ms": ("100", "0.1"),
    "retry.backoff.max.ms": ("1000", "1.0"),
    "max.block.ms": ("60000", "60.0"),
    "transaction.timeout.ms": ("60000", "60.0"),
    "metadata.max.age.ms": ("300000", "300.0"),
    "connections.max.idle.ms": ("-1", "inf"),
    "ssl.truststore.location": ("/etc/ca.pem", "/etc/ca.pem"),
    "ssl.truststore.certificates": ("-----BEGIN", "-----BEGIN"),
    "ssl.truststore.type": ("PEM", "PEM"),
    "ssl.keystore.location": ("/etc/me.pem", "/etc/me.pem"),
    "ssl.keystore.type": ("PEM", "PEM"),
    "ssl.keystore.certificate.chain": ("-----BEGIN", "-----BEGIN"),
    "ssl.keystore.key": ("-----BEGIN", "-----BEGIN"),
    "ssl.key.password": ("s3cret", "s3cret"),
    "ssl.endpoint.identification.algorithm": ("", ""),
    "ssl.cipher.suites": ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
    "ssl.enabled.protocols": ("TLSv1.3", "TLSv1.3"),
    "security.protocol": ("SASL_SSL", "SASL_SSL"),
    "sasl.mechanism": ("SCRAM-SHA-512", "SCRAM-SHA-512"),
    "sasl.jaas.config": ("a.PlainLoginModule required;", "a.PlainLoginModule required;"),
    "sasl.client.callback.handler.class": ("software.amazon.msk.auth.iam.IAMClientCallbackHandler", "AWS_MSK_IAM"),
    "sasl.login.callback.handler.class": (
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
        None,
    ),
    "sasl.kerberos.service.name": ("brokers", "brokers"),
    "sasl.oauthbearer.token.endpoint.url": ("https://login/token", "https://login/token"),
    "sasl.oauthbearer.client.credentials.client.id": ("me", "me"),
    "sasl.oauthbearer.client.credentials.client.secret": ("s3cret", "s3cret"),
    "sasl.oauthbearer.scope": ("write", "write"),
}
"""By setting: a value of Java's, and what the option of ours is then."""


@pytest.mark.parametrize("prefix", ["kafka.", "properties.", "KAFKA."])
@pytest.mark.parametrize("setting", BECOMES, ids=lambda each: each.name)
def test_a_setting_becomes_an_option_that_reads_its_value(setting: Setting, prefix: str) -> None:
    given, expected = EXAMPLES[setting.name]
    needed = {} if setting.only_with is None else {setting.only_with[0]: setting.only_with[1]}
    read = translated({prefix + setting.name: given, **needed})
    assert setting.option is not None
    assert read.get(setting.option) == expected
    options = {folded(each.name) for section in (KafkaOptions, WriterOptions) for each in option_fields(section)}
    assert {folded(name) for name in read} <= options


@pytest.mark.parametrize("setting", IDLE, ids=lambda each: each.name)
def test_a_setting_without_effect_is_left_out_and_has_a_reason(setting: Setting) -> None:
    assert translated({f"kafka.{setting.name}": "anything", "topic": "t"}) == {"topic": "t"}
    assert len(setting.reason.split()) > 3


@pytest.mark.parametrize("setting", REFUSED, ids=lambda each: each.name)
def test_a_setting_by_which_something_would_be_lost_is_refused_with_a_remedy(setting: Setting) -> None:
    key = f"kafka.{setting.name}"
    assert refusal({key: "s3cret"}) == f"option {key!r} is not supported: {setting.reason}"
    assert len(setting.reason.split()) > 3
    for value in setting.harmless or ():
        assert translated({key: value}) == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kafka.linger.ms": "0"}, {"maxTimeInBuffer": "1us"}),
        ({"kafka.linger.ms": "1s"}, {"maxTimeInBuffer": "1.0"}),
        ({"kafka.batch.size": "0"}, {"batchSizeInBytes": "1"}),
        ({"kafka.connections.max.idle.ms": "1000"}, {"connectionsMaxIdle": "1.0"}),
        ({"kafka.partitioner.ignore.keys": "false"}, {}),
        ({"kafka.partitioner.class": ""}, {}),
        ({"sink.partitioner": "default"}, {"partitioner": "murmur2"}),
        ({"sink.partitioner": "'round-robin'"}, {"partitioner": "round-robin"}),
        ({"sink.partitioner": "org.apache.flink.any.FlinkFixedPartitioner"}, {"partitioner": "fixed"}),
        ({"kafka.partitioner.class": "company.parts:Mine"}, {"partitioner": "company.parts:Mine"}),
        ({"sink.delivery-guarantee": "at-least-once"}, {"deliveryGuarantee": "at-least-once"}),
        ({"acks": "-1"}, {"acks": "all"}),
        ({"acks": "1"}, {"acks": "1"}),
        # Levels of other codecs say nothing, as in Java.
        ({"kafka.compression.gzip.level": "6", "compression": "lz4"}, {"compression": "lz4"}),
        (
            {
                "kafka.compression.zstd.level": "3",
                "kafka.compression.type": "zstd",
                "kafka.compression.gzip.level": "6",
            },
            {"compression": "zstd", "compressionLevel": "3"},
        ),
        ({"kafka.compression.gzip.level": "-1", "compression": "gzip"}, {"compression": "gzip"}),
        # Nor does a timeout where there are no transactions.
        ({"kafka.transaction.timeout.ms": "60000"}, {}),
        (
            {"kafka.transaction.timeout.ms": "60000", "deliveryGuarantee": "EXACTLY_ONCE"},
            {"deliveryGuarantee": "exactly-once", "transactionTimeout": "60.0"},
        ),
        # What one setting of Java's limits is two limits here.
        (
            {"kafka.max.request.size": "10485760"},
            {"maxRecordSizeInBytes": "10485760", "maxBatchSizeInBytes": "10485760"},
        ),
        (
            {"kafka.max.request.size": "1000", "maxBatchSizeInBytes": "2000"},
            {"maxRecordSizeInBytes": "1000", "maxBatchSizeInBytes": "2000"},
        ),
        (
            {"kafka.batch.size": "4194304"},
            {"batchSizeInBytes": "4194304", "maxBatchSizeInBytes": "4194304"},
        ),
        ({"batchSizeInBytes": "4mb"}, {"batchSizeInBytes": "4mb", "maxBatchSizeInBytes": "4194304"}),
        (
            {"kafka.batch.size": "4194304", "maxBatchSizeInBytes": "2mb"},
            {"batchSizeInBytes": "4194304", "maxBatchSizeInBytes": "2mb"},
        ),
        (
            {"kafka.batch.size": "4000000", "kafka.max.request.size": "2000000"},
            {"batchSizeInBytes": "4000000", "maxRecordSizeInBytes": "2000000", "maxBatchSizeInBytes": "4000000"},
        ),
        (
            {"kafka.max.request.size": "100000000"},
            {
                "maxRecordSizeInBytes": "100000000",
                "maxBatchSizeInBytes": "100000000",
                "maxBufferedSizeInBytes": "100000000",
            },
        ),
        (
            {"kafka.batch.size": "100000000"},
            {
                "batchSizeInBytes": "100000000",
                "maxBatchSizeInBytes": "100000000",
                "maxBufferedSizeInBytes": "100000000",
            },
        ),
        (
            {"kafka.max.request.size": "5000000", "kafka.buffer.memory": "5000000"},
            {
                "maxRecordSizeInBytes": "5000000",
                "maxBufferedSizeInBytes": "5000000",
                "maxBatchSizeInBytes": "5000000",
            },
        ),
        (
            {"kafka.buffer.memory": "500000", "kafka.batch.size": "16384"},
            {
                "maxBufferedSizeInBytes": "500000",
                "batchSizeInBytes": "16384",
                "maxRecordSizeInBytes": "500000",
                "maxBatchSizeInBytes": "500000",
            },
        ),
        ({"kafka.retry.backoff.ms": "5000"}, {"retry.initialBackoff": "5.0", "retry.maxBackoff": "5.0"}),
        ({"kafka.retry.backoff.ms": "50"}, {"retry.initialBackoff": "0.05", "retry.maxBackoff": "1.0"}),
        (
            {"kafka.retry.backoff.ms": "50", "kafka.retry.backoff.max.ms": "20"},
            {"retry.initialBackoff": "0.05", "retry.maxBackoff": "0.05"},
        ),
        (
            {"kafka.retry.backoff.ms": "50", "retry.maxBackoff": "7s"},
            {"retry.initialBackoff": "0.05", "retry.maxBackoff": "7s"},
        ),
        ({"kafka.delivery.timeout.ms": "1800000"}, {"retry.timeout": "1800.0", "stallTimeout": "1860.0"}),
        (
            {"kafka.delivery.timeout.ms": "9000000", "stallTimeout": "inf"},
            {"retry.timeout": "9000.0", "stallTimeout": "inf"},
        ),
    ],
)
def test_values_of_java_and_flink_keep_their_meaning(options: dict[str, str], expected: dict[str, str]) -> None:
    assert translated(options) == expected
    assert KafkaSink.from_options({"bootstrapServers": "one:1", **options}).options.bootstrap_servers == "one:1"


def test_what_fits_is_judged_by_the_sinks_own_defaults() -> None:
    limits = KafkaSink.defaults
    assert limits.max_record_size_in_bytes == properties._RECORD_SIZE
    assert limits.max_batch_size_in_bytes == properties._BATCH_SIZE
    assert limits.max_buffered_size_in_bytes == properties._BUFFER_SIZE


def test_a_larger_batch_of_java_is_filled() -> None:
    sink = KafkaSink.from_options({"bootstrapServers": "one:1", "kafka.batch.size": "4194304"})
    assert sink.batch_size(sink.config) == 4194304


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kafka.linger": "5"}, "option 'kafka.linger' is not known; did you mean 'kafka.linger.ms'?"),
        ({"properties.ackss": "5"}, "option 'properties.ackss' is not known; did you mean 'properties.acks'?"),
        ({"kafka.zzzz": "5"}, "option 'kafka.zzzz' is not known: Java's producer has no such setting; leave it out"),
        ({"kafka.linger.ms": "soon"}, "option 'kafka.linger.ms' = 'soon' must be a duration such as"),
        ({"kafka.linger.ms": "-5"}, "option 'kafka.linger.ms' = '-5' must be 0 or more milliseconds"),
        ({"kafka.buffer.memory": "-1"}, "option 'kafka.buffer.memory' = '-1' must be 0 or more bytes"),
        ({"kafka.buffer.memory": "much"}, "option 'kafka.buffer.memory' = 'much' must be a size"),
        (
            {"kafka.buffer.memory": "4000000", "kafka.max.request.size": "5000000"},
            "'kafka.buffer.memory' = 4000000 must be at least as large as 'kafka.max.request.size' = 5000000; raise",
        ),
        (
            {"maxBufferedSizeInBytes": "2mb", "kafka.batch.size": "4194304"},
            "option 'maxBufferedSizeInBytes' = 2097152 must be at least as large as 'kafka.batch.size' = 4194304",
        ),
        (
            {"kafka.buffer.memory": "1000", "maxBatchSizeInBytes": "2000", "kafka.batch.size": "5000"},
            "option 'kafka.buffer.memory' = 1000 must be at least as large as 'maxBatchSizeInBytes' = 2000",
        ),
        ({"kafka.enable.idempotence": "yes"}, "option 'kafka.enable.idempotence' = 'yes' must be true or false"),
        (
            {"kafka.partitioner.ignore.keys": "yes"},
            "option 'kafka.partitioner.ignore.keys' = 'yes' must be true or false",
        ),
        ({"kafka.acks": "2"}, "option 'kafka.acks' = '2' must be 'all' or '1' or '0'"),
        ({"kafka.partitioner.class": "com.company.Mine"}, "classes of Java cannot be loaded"),
        ({"kafka.sasl.login.callback.handler.class": "io.Mine"}, "give saslTokenProvider, an import path"),
        ({"deliveryGuarantee": "exactly-twice"}, "must be 'at-least-once' or 'exactly-once' or 'none'"),
        ({"kafka.transactional.id": "mine"}, "each task has ids of its own; set deliveryGuarantee=exactly-once"),
        (
            {"kafka.linger.ms": "5", "maxTimeInBuffer": "6ms"},
            "options 'maxTimeInBuffer' = 0.006 and 'kafka.linger.ms' = 0.005 are two names of 'maxTimeInBuffer' with",
        ),
        ({"kafka.acks": "all", "properties.acks": "1"}, "options 'kafka.acks' = 'all' and 'properties.acks' = '1'"),
        ({"kafka.client.id": "a", "client_id": "b"}, "options 'client_id' = 'b' and 'kafka.client.id' = 'a'"),
        (
            {"kafka.partitioner.class": "RoundRobinPartitioner", "kafka.partitioner.ignore.keys": "true"},
            "with different values; give one of them",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_by_the_key_that_was_written(options: dict[str, str], sentence: str) -> None:
    assert sentence in refusal(options)


@pytest.mark.parametrize(
    "options",
    [
        {"kafka.linger.ms": "5", "maxTimeInBuffer": "5ms"},
        {"kafka.acks": "-1", "acks": "all", "properties.acks": "ALL"},
        {"kafka.bootstrap.servers": "one:1", "bootstrapServers": "one:1", "properties.bootstrap.servers": "one:1"},
        {"sink.partitioner": "default", "partitioner": "murmur2"},
    ],
)
def test_the_same_said_twice_does_no_harm(options: dict[str, str]) -> None:
    parse_options({"bootstrapServers": "one:1", **options}, KafkaOptions, WriterOptions)


def test_different_secrets_are_refused_and_not_shown() -> None:
    message = refusal({"kafka.ssl.key.password": "s3cret-1", "sslKeyPassword": "s3cret-2"})
    assert "two names of 'sslKeyPassword' with different values" in message
    assert "s3cret" not in message


def test_what_is_no_setting_is_left_as_it_is() -> None:
    options = {"Topic": "orders", "noSuchOption": "1", "path": "/x", "maxBatchSize": "7"}
    assert translated(options) == options
    assert list(BARE) == ["acks", "deliveryguarantee", "sink.deliveryguarantee", "sink.partitioner"]


def test_a_drop_in_for_sparks_sink_reads_as_its_settings_say() -> None:
    own, writer = parse_options(
        {
            "kafka.bootstrap.servers": "one:9092,two:9092",
            "topic": "orders",
            "includeheaders": "true",
            "kafka.acks": "all",
            "kafka.batch.size": "65536",
            "kafka.linger.ms": "20",
            "kafka.compression.type": "LZ4",
            "kafka.max.in.flight.requests.per.connection": "5",
            "kafka.retries": "2147483647",
            "checkpointlocation": "/data/checkpoints/orders",
        },
        KafkaOptions,
        WriterOptions,
    )
    expected = KafkaOptions(
        bootstrap_servers="one:9092,two:9092",
        topic="orders",
        include_headers=True,
        batch_size_in_bytes=65536,
        compression="lz4",
    )
    assert (own, writer) == (expected, WriterOptions(max_time_in_buffer_s=0.02))
