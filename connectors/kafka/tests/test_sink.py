"""The sink: what it refuses, what its clients are known by, and that it needs no Kafka library to be looked at."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import pytest

from asyncsink import ConfigurationError
from asyncsink_kafka import KafkaRecord, KafkaSink

BROKERS = {"kafka.bootstrap.servers": "broker:9092", "topic": "orders"}


@pytest.mark.parametrize("partitioner", ["sticky", "round-robin"])
def test_the_order_of_keys_is_refused_where_keys_do_not_decide(partitioner: str) -> None:
    with pytest.raises(ConfigurationError, match=r"'ordering' = 'key'.*ignores keys; set partitioner=murmur2"):
        KafkaSink.from_options({**BROKERS, "ordering": "key", "partitioner": partitioner})


@pytest.mark.parametrize("partitioner", ["murmur2", "fixed", "company.parts:ByCustomer"])
def test_the_order_of_keys_is_kept_by_partitions(partitioner: str) -> None:
    sink = KafkaSink.from_options({**BROKERS, "ordering": "key", "partitioner": partitioner})
    assert sink.config.ordering == "key"


def test_failing_at_a_timeout_is_refused_with_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match=r"'failOnTimeout'.*retry.timeout"):
        KafkaSink.from_options({**BROKERS, "failOnTimeout": "true"})


@pytest.mark.parametrize("opened", ["open", "open_blocking"])
def test_a_writer_that_nobody_commits_for_is_refused_with_what_to_use(opened: str) -> None:
    sink = KafkaSink.from_options({**BROKERS, "deliveryGuarantee": "exactly-once"})
    with pytest.raises(ConfigurationError, match=r"'deliveryGuarantee' = 'exactly-once' needs .*asyncsink.run_local"):
        getattr(sink, opened)()


def test_limits_are_told_in_javas_names_and_in_ours() -> None:
    java = {
        "kafka.batch.size": "16384", "kafka.linger.ms": "0", "kafka.buffer.memory": "33554432",
        "kafka.request.timeout.ms": "20000", "kafka.delivery.timeout.ms": "60000", "kafka.retry.backoff.ms": "50",
    }  # fmt: skip
    ours = {
        "batchSizeInBytes": "16KiB", "maxTimeInBuffer": "0.001ms", "maxBufferedSizeInBytes": "32MiB",
        "requestTimeout": "20s", "retry.timeout": "1min", "retry.initialBackoff": "50ms",
    }  # fmt: skip
    found, expected = (KafkaSink.from_options({**BROKERS, **each}) for each in (java, ours))
    assert found.options == expected.options
    assert replace(found.config, max_time_in_buffer_s=1, retry=expected.config.retry) == replace(
        expected.config, max_time_in_buffer_s=1
    )
    assert found.config.retry.timeout_s == 60
    assert found.batch_size(found.config) == 16_384
    assert found.config.max_time_in_buffer_s < 0.001


def test_sinks_that_differ_in_what_the_client_is_made_with_share_none() -> None:
    sink = KafkaSink.from_options(BROKERS)
    other = KafkaSink.from_options({**BROKERS, "requestTimeout": "5s"})
    batches = KafkaSink.from_options({**BROKERS, "maxBatchSize": "7"})
    assert sink.client_key == KafkaSink.from_options(BROKERS).client_key == batches.client_key
    assert sink.client_key != other.client_key


def test_a_sink_can_be_pickled_and_measures_records_as_java_does() -> None:
    sink = pickle.loads(pickle.dumps(KafkaSink.from_options(BROKERS)))
    assert sink.sizes([KafkaRecord(value=b"x" * 100)])[0] in range(165, 175)


def test_looking_at_the_sink_imports_no_client() -> None:
    code = (
        "import sys; from asyncsink_kafka import KafkaSink; "
        f"sink = KafkaSink.from_options({BROKERS!r}); repr(sink.options); "
        "print([name for name in ('aiokafka', 'numpy', 'pyarrow') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
