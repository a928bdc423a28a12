"""Streams by name and by ARN: what is taken, and in which words the rest is refused."""

from __future__ import annotations

import pytest

from asyncsink import ConfigurationError
from asyncsink_aws.arn import AwsService, StreamName, agreed_region, parse_stream

STREAM = "arn:aws:kinesis:eu-west-1:123456789012:stream/clicks"
DELIVERY = "arn:aws-cn:firehose:cn-north-1:123456789012:deliverystream/clicks"


@pytest.mark.parametrize(
    ("text", "service", "stream", "region"),
    [
        ("clicks", "kinesis", StreamName("clicks", None), None),
        ("a" * 128, "kinesis", StreamName("a" * 128, None), None),
        ("a.b-c_D", "firehose", StreamName("a.b-c_D", None), None),
        (STREAM, "kinesis", StreamName(None, STREAM), "eu-west-1"),
        (DELIVERY, "firehose", StreamName(None, DELIVERY), "cn-north-1"),
    ],
)
def test_a_stream_is_a_name_or_an_arn(text: str, service: AwsService, stream: StreamName, region: str | None) -> None:
    parsed = parse_stream(text, service)
    assert (parsed, parsed.region) == (stream, region)


def test_the_short_name_is_the_last_of_an_arn() -> None:
    assert [parse_stream(each, "kinesis").short_name for each in (STREAM, "orders")] == ["clicks", "orders"]


@pytest.mark.parametrize(
    ("text", "service", "sentence"),
    [
        ("", "kinesis", "stream '' is no name of a kinesis stream; it has 1 to 128 of the characters"),
        ("a b", "kinesis", "or is an ARN as in arn:aws:kinesis:eu-west-1:123456789012:stream/clicks"),
        ("clicks\n", "kinesis", "is no name of a kinesis stream"),
        ("a" * 129, "kinesis", "it has 1 to 128"),
        ("a" * 65, "firehose", "it has 1 to 64"),
        ("arn:aws:kinesis:eu-west-1:1234:stream/clicks", "kinesis", "is no ARN; write it as in arn:aws:kinesis:"),
        (STREAM + "/consumer/x:1", "kinesis", "is no ARN"),
        (STREAM, "firehose", "is the ARN of another thing (kinesis stream); a firehose stream's is as in"),
        (DELIVERY, "kinesis", "is the ARN of another thing (firehose deliverystream)"),
        (STREAM + "é", "kinesis", "holds no name of a kinesis stream; it has 1 to 128"),
    ],
)
def test_what_is_neither_is_refused_with_an_example(text: str, service: AwsService, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_stream(text, service)
    assert sentence in str(raised.value)


def test_the_region_is_the_options_or_else_the_arns() -> None:
    by_arn, by_name = parse_stream(STREAM, "kinesis"), parse_stream("clicks", "kinesis")
    assert agreed_region(by_arn, None) == agreed_region(by_arn, "eu-west-1") == "eu-west-1"
    assert (agreed_region(by_name, "us-east-1"), agreed_region(by_name, None)) == ("us-east-1", None)
    with pytest.raises(ConfigurationError, match=r"'us-east-1' contradicts the stream 'arn.*leave the region out"):
        agreed_region(by_arn, "us-east-1")
