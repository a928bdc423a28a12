"""Options: what is accepted, what is refused and in which words."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import AsyncSinkWriterConfig, ConfigurationError
from asyncsink_aws.arn import StreamName
from asyncsink_kinesis import KinesisOptions, KinesisSink

ARN = "arn:aws:kinesis:eu-central-1:123456789012:stream/clicks"
MIB = 1024 * 1024


def read(**options: str) -> KinesisOptions:
    return KinesisOptions.from_options({"streamName": "clicks", **options})


def test_only_the_stream_is_required() -> None:
    options = read()
    assert options.stream == StreamName("clicks", None)
    assert (options.partition_key, options.partition_key_delimiter, options.key_columns) == ("random", "|", ())
    assert (options.per_shard_limits, options.aggregation, options.strict_ordering) == (False, "none", False)
    with pytest.raises(ConfigurationError, match="option 'streamName' is missing: give the name or the ARN"):
        KinesisOptions.from_options({})


@pytest.mark.parametrize(
    "name", ["stream", "stream_name", "STREAMNAME", "kinesis.streamName", "kinesis.streamname", "stream-name"]
)
def test_the_stream_has_the_names_of_peers(name: str) -> None:
    assert KinesisOptions.from_options({name: "clicks"}).stream_name == "clicks"


@pytest.mark.parametrize("name", ["streamArn", "stream.arn", "stream_arn", "streamName"])
def test_an_arn_names_the_stream_and_its_region(name: str) -> None:
    options = KinesisOptions.from_options({name: ARN})
    assert options.stream == StreamName(None, ARN)
    assert options.default_region == "eu-central-1"


def test_the_region_of_the_option_and_of_the_arn_must_agree() -> None:
    assert KinesisOptions.of(stream_arn=ARN, region="eu-central-1").default_region == "eu-central-1"
    with pytest.raises(ConfigurationError, match="'region' = 'us-east-1' contradicts the stream"):
        KinesisOptions.of(stream_arn=ARN, region="us-east-1")


def test_one_stream_is_named_once() -> None:
    with pytest.raises(ConfigurationError, match="'streamName' and 'streamArn' both name a stream; give one of them"):
        read(streamArn=ARN)
    with pytest.raises(ConfigurationError, match="'streamArn' = 'clicks' is no ARN; give a name as option"):
        KinesisOptions.from_options({"streamArn": "clicks"})
    with pytest.raises(ConfigurationError, match="'clicks and more' is no name of a kinesis stream"):
        KinesisOptions.from_options({"streamName": "clicks and more"})


def test_flinks_and_vectors_names_of_the_partition_key() -> None:
    assert read(**{"sink.partitioner": "fixed"}).partition_key == "fixed"
    assert read(**{"sink.partitioner-field-delimiter": "-"}).partition_key_delimiter == "-"
    assert read(partition_key_field="user").key_columns == ("user",)
    assert read(partitionKey=" Random ").partition_key == "random"
    assert read(partitionKey="user, day").key_columns == ("user", "day")


@pytest.mark.parametrize("said", ["", "user,", ",", "user,,day"])
def test_a_partition_key_without_a_columns_name_is_refused(said: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"option 'partitionKey' = .* must be random, fixed, or names of columns"
    ):
        read(partitionKey=said)


def test_awslabs_names_are_read() -> None:
    sink = KinesisSink.from_options(
        {
            "kinesis.streamName": "clicks",
            "kinesis.region": "eu-west-1",
            "kinesis.endpointUrl": "https://kinesis.eu-west-1.amazonaws.com",
            "kinesis.stsRoleArn": "arn:aws:iam::123456789012:role/writer",
            "kinesis.stsSessionName": "spark",
            "kinesis.sink.recordMaxBufferedTimeMs": "1000",
            "kinesis.sink.maxConnections": "3",
            "kinesis.sink.aggregationEnabled": "true",
        }
    )
    options = sink.options
    assert (options.region, options.endpoint) == ("eu-west-1", "https://kinesis.eu-west-1.amazonaws.com")
    assert (options.role_arn, options.role_session_name) == ("arn:aws:iam::123456789012:role/writer", "spark")
    assert options.aggregation == "kpl"
    assert (sink.config.max_time_in_buffer_s, sink.config.max_in_flight_requests) == (1.0, 3)


def test_awslabs_aggregation_can_be_switched_off_and_must_be_readable() -> None:
    assert read(**{"kinesis.sink.aggregationEnabled": "false"}).aggregation == "none"
    with pytest.raises(ConfigurationError, match="aggregationEnabled' = 'perhaps' must be true or false"):
        read(**{"kinesis.sink.aggregationEnabled": "perhaps"})


@pytest.mark.parametrize("name", sorted(KinesisOptions.refused))
def test_keys_of_other_meaning_are_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{name}' is not supported: "):
        read(**{name: "1"})


def test_strict_is_an_ordering_of_keys_and_more() -> None:
    sink = KinesisSink.from_options({"streamName": "clicks", "ordering": "strict"})
    assert (sink.config.ordering, sink.options.strict_ordering) == ("key", True)
    sink = KinesisSink.from_options({"streamName": "clicks", "ordering": "key"})
    assert (sink.config.ordering, sink.options.strict_ordering) == ("key", False)


def test_aggregated_records_have_no_strict_order() -> None:
    with pytest.raises(
        ConfigurationError, match="'aggregation' = 'kpl' and 'strictOrdering' = true exclude each other"
    ):
        read(aggregation="kpl", strictOrdering="true")


@pytest.mark.parametrize(
    ("field", "option", "value", "limit"),
    [
        ("max_batch_size", "maxBatchSize", 501, "500 records a request"),
        ("max_batch_size_in_bytes", "maxBatchSizeInBytes", 10 * MIB + 1, "10485760 bytes a request"),
    ],
)
def test_limits_beyond_the_services_are_refused(field: str, option: str, value: int, limit: str) -> None:
    changed: dict[str, Any] = {field: value}
    config = replace(KinesisSink.defaults, **changed)
    with pytest.raises(ConfigurationError, match=rf"{option}\) = {value} is more than Kinesis takes, {limit}"):
        KinesisSink(stream_name="clicks", config=config)
    at_limit = replace(
        KinesisSink.defaults, max_batch_size_in_bytes=10 * MIB, max_record_size_in_bytes=10 * MIB, max_batch_size=500
    )
    assert KinesisSink(stream_name="clicks", config=at_limit).config == at_limit


def test_the_defaults_are_the_services() -> None:
    config: AsyncSinkWriterConfig = KinesisSink(stream_name="clicks").config
    assert (config.max_batch_size, config.max_batch_size_in_bytes, config.max_record_size_in_bytes) == (
        500,
        5 * MIB,
        MIB,
    )
    assert (config.max_in_flight_requests, config.rate_limit.kind) == (50, "paced")


def test_a_sink_can_be_pickled_and_shows_no_secret() -> None:
    sink = KinesisSink(stream_name="clicks", access_key_id="AKIDEXAMPLE", secret_access_key="s3cret")
    assert "s3cret" not in repr(sink.options)
    copy = pickle.loads(pickle.dumps(sink))
    assert (copy.options, copy.config, copy.fingerprint) == (sink.options, sink.config, sink.fingerprint)
