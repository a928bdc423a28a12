"""Streams by name or by ARN."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from asyncsink.errors import ConfigurationError

AwsService = Literal["kinesis", "firehose"]
"""The services that sinks write to, as botocore and ARNs name them."""

# CreateStream: 1 to 128 characters; CreateDeliveryStream: 1 to 64. Both of the same alphabet.
_MOST_CHARACTERS: Final = {"kinesis": 128, "firehose": 64}
_RESOURCES: Final = {"kinesis": "stream", "firehose": "deliverystream"}
_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]+")
_ARN: Final = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):(?P<service>[a-z0-9-]+):(?P<region>[a-z0-9-]+):(?P<account>\d{12}):"
    r"(?P<kind>[a-z-]+)/(?P<name>[^/:]+)"
)


class StreamName(NamedTuple):
    """A stream as requests name it: by its name, or by its ARN, which another account's stream needs."""

    name: str | None
    arn: str | None

    @property
    def region(self) -> str | None:
        """The region that the ARN names; None where there is only a name."""
        return None if self.arn is None else self.arn.split(":")[3]

    @property
    def short_name(self) -> str:
        """The name alone, also where an ARN was given; for messages and for services that take no ARN."""
        return self.name or (self.arn or "").rpartition("/")[2]


def parse_stream(text: str, service: AwsService) -> StreamName:
    """A stream's name or ARN, checked by the rules of the service.

    :raises ConfigurationError: it is neither; says what it must look like
    """
    if text.startswith("arn:"):
        return StreamName(None, _checked_arn(text, service))
    most = _MOST_CHARACTERS[service]
    if not _NAME.fullmatch(text) or len(text) > most:
        raise ConfigurationError(
            f"stream {text!r} is no name of a {service} stream; it has 1 to {most} of the characters a-z, A-Z, 0-9, "
            f"'_', '.' and '-', or is an ARN as in {_example(service)}"
        )
    return StreamName(text, None)


def _checked_arn(text: str, service: AwsService) -> str:
    found = _ARN.fullmatch(text)
    if found is None:
        raise ConfigurationError(f"stream {text!r} is no ARN; write it as in {_example(service)}")
    if found["service"] != service or found["kind"] != _RESOURCES[service]:
        raise ConfigurationError(
            f"stream {text!r} is the ARN of another thing ({found['service']} {found['kind']}); a {service} stream's "
            f"is as in {_example(service)}"
        )
    most = _MOST_CHARACTERS[service]
    if not _NAME.fullmatch(found["name"]) or len(found["name"]) > most:
        raise ConfigurationError(
            f"stream {text!r} holds no name of a {service} stream; it has 1 to {most} of the characters a-z, A-Z, 0-9, "
            "'_', '.' and '-'"
        )
    return text


def _example(service: AwsService) -> str:
    return f"arn:aws:{service}:eu-west-1:123456789012:{_RESOURCES[service]}/clicks"


def agreed_region(stream: StreamName, region: str | None) -> str | None:
    """The region of the option where it is given, else that of the stream's ARN.

    :raises ConfigurationError: the two differ
    """
    if region is not None and stream.region is not None and region != stream.region:
        raise ConfigurationError(
            f"option 'region' = {region!r} contradicts the stream {stream.arn!r}, which is in {stream.region!r}; leave "
            "the region out"
        )
    return region or stream.region
