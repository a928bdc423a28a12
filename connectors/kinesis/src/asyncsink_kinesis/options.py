"""The connector's own options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias, folded, option
from asyncsink_aws.arn import StreamName, agreed_region, parse_stream
from asyncsink_aws.options import AwsOptions

RANDOM, FIXED = "random", "fixed"
"""Values of `partition_key` that name no columns."""
AGGREGATED_BYTES = 51_200
"""Of an aggregated record at most, by default: Amazon's own."""


@dataclass(frozen=True, kw_only=True)
class KinesisOptions(AwsOptions):
    """Which stream, how its records find their shards, and who sends."""

    refused: ClassVar[Mapping[str, str]] = {
        **AwsOptions.refused,
        "kinesis.sink.recordTtl": "a record that cannot be stored fails the task after retry.timeout; no record is "
        "dropped for its age",
        "sink.producer.record-max-buffered-time": "set maxTimeInBuffer",
        "sink.producer.collection-max-count": "set maxBatchSize",
        "sink.producer.collection-max-size": "set maxBatchSizeInBytes",
        "sink.producer.aggregation-enabled": "set aggregation=kpl, or leave it out",
        "sink.producer.fail-on-error": "a failure is retried within retry.maxAttempts and retry.timeout, and then the "
        "task fails; lower these two to fail sooner",
    }

    lent: ClassVar[Mapping[str, Alias]] = {
        **AwsOptions.lent,
        "maxTimeInBuffer": Alias("kinesis.sink.recordMaxBufferedTimeMs", unit="ms"),
        "maxInFlightRequests": Alias("kinesis.sink.maxConnections"),
    }

    stream_name: str | None = option(
        None, doc="Name of the stream, or its ARN.", aliases=["stream", "kinesis.streamName"]
    )
    stream_arn: str | None = option(
        None,
        doc="ARN of the stream, which may belong to another account, in place of streamName.",
        aliases=["stream.arn", "kinesis.streamArn"],
    )
    partition_key: str = option(
        RANDOM,
        doc="The partition key of a row without a column partitionKey: random, another for each row; fixed, one for "
        "each task; or the names of columns, separated by commas, whose values are joined.",
        aliases=["sink.partitioner", "partition_key_field"],
    )
    partition_key_delimiter: str = option(
        "|",
        doc="What stands between the values that make a partition key.",
        aliases=["sink.partitioner-field-delimiter"],
    )
    per_shard_limits: bool = option(
        False,
        doc="Limit the load of each shard by itself, so that a hot one does not hold up the others; needs the "
        "permission kinesis:ListShards.",
    )
    aggregation: Literal["none", "kpl"] = option(
        "none",
        doc="kpl packs many rows into one record, as Amazon's Kinesis Producer Library does; consumers must unpack. "
        "Limits of the writer count rows then, and each shard is limited by itself.",
    )
    aggregation_max_size_in_bytes: int = option(
        AGGREGATED_BYTES,
        name="aggregationMaxSize",
        unit="bytes",
        doc="Bytes of an aggregated record; a row that is larger goes as a record of its own.",
        aliases=["AggregationMaxSize"],
    )
    strict_ordering: bool = option(
        False,
        doc="Send the records of a key one after the other, each bound to the one before it by its sequence number; "
        "ordering=strict says the same.",
    )
    ready_bodies: bool = option(
        True,
        doc="Whether the bodies of requests are built at once; false leaves them to botocore, which costs several "
        "times as much.",
    )

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        """``ordering=strict`` and awslabs' ``kinesis.sink.aggregationEnabled`` in this connector's own words.

        :raises ConfigurationError: a value cannot be read
        """
        own: dict[str, str] = {}
        given = super().translated(options)
        for key, value in given.items():
            name, said = folded(key), value.strip().lower()
            if name == "ordering" and said == "strict":
                _check_not_denied(given)
                own |= {key: "key", "strictOrdering": "true"}
            elif name == folded("kinesis.sink.aggregationEnabled"):
                own["aggregation"] = _aggregation(key, said)
            else:
                own[key] = value
        return own

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("stream_name", "stream_arn") if getattr(self, name) is not None]
        if len(given) != 1:
            told = "options 'streamName' and 'streamArn' both name a stream" if given else "option 'streamName' is "
            rule = "; give one of them" if given else "missing: give the name or the ARN of the stream"
            raise ConfigurationError(f"{told}{rule}")
        self._check_arn()
        self._check_key()
        if self.aggregation == "kpl" and self.strict_ordering:
            raise ConfigurationError(
                "options 'aggregation' = 'kpl' and 'strictOrdering' = true exclude each other: an aggregated record "
                "holds rows of many keys; give one of them"
            )

    @property
    def by_shard(self) -> bool:
        """Whether a request goes to one shard alone, as the limits of each and aggregated records need it."""
        return self.per_shard_limits or self.aggregation == "kpl"

    @cached_property
    def frame_size_in_bytes(self) -> int | None:
        """The most that a record of many rows may have; None where each row is a record of its own."""
        return self.aggregation_max_size_in_bytes if self.aggregation == "kpl" else None

    @cached_property
    def stream(self) -> StreamName:
        """The stream as requests name it."""
        return parse_stream(self.stream_name or self.stream_arn or "", "kinesis")

    @property
    def default_region(self) -> str | None:
        """The region of the option, else that of the stream's ARN."""
        return agreed_region(self.stream, self.region)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that `partition_key` names; none where it is random or fixed."""
        if self.partition_key in (RANDOM, FIXED):
            return ()
        return tuple(name.strip() for name in self.partition_key.split(","))

    def _check_arn(self) -> None:
        stream = self.stream
        if self.stream_arn is not None and stream.arn is None:
            raise ConfigurationError(
                f"option 'streamArn' = {self.stream_arn!r} is no ARN; give a name as option 'streamName'"
            )
        agreed_region(stream, self.region)

    def _check_key(self) -> None:
        said = self.partition_key.strip()
        if said.lower() in (RANDOM, FIXED):
            object.__setattr__(self, "partition_key", said.lower())
        elif not all(self.key_columns):
            raise ConfigurationError(
                f"option 'partitionKey' = {self.partition_key!r} must be random, fixed, or names of columns separated "
                "by commas"
            )


def _check_not_denied(options: Mapping[str, str]) -> None:
    """Refuse ``ordering=strict`` beside an option that says the opposite."""
    for key, value in options.items():
        if folded(key) == "strictordering" and value.strip().lower() == "false":
            raise ConfigurationError(f"option {key!r} = {value!r} contradicts 'ordering' = 'strict'; drop one of them")


def _aggregation(key: str, said: str) -> str:
    if said not in ("true", "false"):
        raise ConfigurationError(f"option {key!r} = {said!r} must be true or false; aggregation=kpl says the same")
    return "kpl" if said == "true" else "none"
