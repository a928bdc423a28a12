from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import ConfigurationError, RateLimit
from asyncsink_firehose import FirehoseOptions, FirehoseSink
from asyncsink_firehose.packing import Packing

ARN = "arn:aws:firehose:eu-west-1:123456789012:deliverystream/clicks"


def sink_of(**options: str) -> FirehoseSink:
    return FirehoseSink.from_options({"deliveryStream": "clicks", **options})


@pytest.mark.parametrize(
    "name",
    ["deliveryStream", "delivery-stream", "delivery_stream", "deliverystream", "streamName", "stream_name", "stream"],
)
def test_the_stream_is_known_by_the_names_of_flink_vector_and_redpanda(name: str) -> None:
    assert FirehoseSink.from_options({name: "clicks"}).options == FirehoseOptions(delivery_stream="clicks")


def test_an_arn_names_stream_and_region() -> None:
    options = FirehoseOptions(delivery_stream=ARN)
    assert (options.stream.short_name, options.default_region) == ("clicks", "eu-west-1")
    assert FirehoseOptions(delivery_stream="clicks", region="us-east-1").default_region == "us-east-1"
    assert FirehoseOptions(delivery_stream="clicks").default_region is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"deliveryStream": "no such name"},
            r"option 'deliveryStream': stream 'no such name' is no name of a firehose",
        ),
        ({"deliveryStream": "x" * 65}, r"1 to 64 of the characters"),
        ({"deliveryStream": ARN.replace("firehose", "kinesis")}, r"option 'deliveryStream': .* is the ARN of another"),
        ({"deliveryStream": ARN, "region": "us-east-1"}, r"'us-east-1' contradicts .* in 'eu-west-1'"),
        ({"compression": "gzip"}, r"'compression'.* let Firehose compress what it delivers"),
        ({"packedRecordSize": "100kb"}, r"'packedRecordSize' is given, but packing=none; set packing=rows"),
        ({"packedRecordRows": "100"}, r"'packedRecordRows' is given, but packing=none; set packing=rows"),
        ({"packing": "rows", "packedRecordRows": "0"}, r"'packedRecordRows' = 0 must be 1 or more"),
        ({"packing": "rows", "packedRecordSize": "5119"}, r"'packedRecordSize' = 5119 must be at least 5120"),
        ({"packing": "rows", "packedRecordSize": "1mb"}, r"= 1048576 is more than Firehose takes: .* 1024000 bytes"),
        ({"packing": "rows", "delimiter": "none"}, r"'delimiter' = 'none' contradicts packing=rows"),
        ({"maxBatchSize": "501"}, r"maxBatchSize\) = 501 is more than Firehose takes, 500 records a request; set it"),
        (
            {"maxBatchSizeInBytes": "5mb"},
            r"maxBatchSizeInBytes\) = 5242880 .* 4194304 bytes \(4 MiB\) a request; set it to",
        ),
        ({"maxRecordSizeInBytes": "1mb"}, r"maxRecordSizeInBytes\) = 1048576 .* 1024000 bytes \(1000 KiB\) a record"),
        ({"batching": "deterministic"}, r"batching = 'deterministic' is not for FirehoseSink: the service judges each"),
        ({"ordering": "key"}, r"ordering = 'key' needs keys, and FirehoseSink has none"),
        (
            {"packing": "rows", "packedRecordSize": "10kb", "maxBatchSizeInBytes": "4mb"},
            (
                r"packed records of 10240 bytes .* may be more than the 500 .* raise packedRecordSize, or lower "
                r"maxBatchSizeInBytes to 2391040"
            ),
        ),
        (
            {"packing": "rows", "packedRecordRows": "10", "maxBatchSize": "16000"},
            r"and 10 rows \(packedRecordRows\) .* raise packedRecordRows, or lower maxBatchSize",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_rule_and_remedy(options: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        FirehoseSink.from_options({"deliveryStream": "clicks", **options})


@pytest.mark.parametrize("size", ["5kb", "10kb", "100kb", "1000kb"])
@pytest.mark.parametrize("rows", ["1", "5", "10", "500", "100000"])
def test_every_packing_has_defaults_within_the_limits_of_the_service(size: str, rows: str) -> None:
    config = sink_of(packing="rows", packedRecordSize=size, packedRecordRows=rows).config
    assert config.max_batch_size_in_bytes <= 4 * 1024 * 1024
    assert (
        Packing(int(size[:-2]) * 1024, int(rows)).most_records(config.max_batch_size, config.max_batch_size_in_bytes)
        <= 500
    )


def test_the_limits_of_the_service_are_the_defaults() -> None:
    config = sink_of().config
    assert config == FirehoseSink.defaults
    assert (config.max_batch_size, config.max_batch_size_in_bytes) == (500, 4 * 1024 * 1024)
    assert config.max_record_size_in_bytes == 1000 * 1024


def test_with_packing_rows_are_counted_and_more_of_them_go_at_once() -> None:
    sink = sink_of(packing="rows")
    assert sink.options.packed == Packing(1_024_000, 500)
    assert sink.options.delimiter_bytes == b"\n"
    expected = replace(
        FirehoseSink.defaults,
        max_batch_size=16_000,
        max_buffered_requests=160_000,
        rate_limit=RateLimit.aimd(unit="bytes"),
    )
    assert sink.config == expected
    assert sink_of(packing="rows", maxBatchSize="2000").config == replace(expected, max_batch_size=2000)


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, None), ({"delimiter": "none"}, b""), ({"delimiter": "\\r\\n"}, b"\r\n"), ({"packing": "rows"}, b"\n")],
)
def test_the_delimiter_depends_on_the_rows_unless_it_is_given(given: dict[str, Any], expected: bytes | None) -> None:
    assert FirehoseOptions(delivery_stream="clicks", **given).delimiter_bytes == expected


def test_a_sink_is_pickled_without_a_client_and_shows_no_secret() -> None:
    sink = FirehoseSink(delivery_stream="clicks", access_key_id="AKIDEXAMPLE", secret_access_key="s3cret")
    assert pickle.loads(pickle.dumps(sink)).fingerprint == sink.fingerprint
    assert "s3cret" not in repr(sink.options)
