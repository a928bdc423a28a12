"""Settings that are no producer's, and names of options that come with values of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink.options import folded
from asyncsink_kafka.options.settings import (
    Setting,
    acknowledgements,
    becomes,
    guarantee,
    partitioner,
    refused,
    without_effect,
)

_OF_CONSUMERS: Final = "it is a setting of consumers, and a sink has none"
_AS_THEY_ARE: Final = "a sink reads nothing; leave it out"

FOREIGN: Final[tuple[Setting, ...]] = (
    # Spark refuses these, too: who sets them expects more than a sink can do.
    refused("group.id", f"{_OF_CONSUMERS}; leave it out"),
    refused("auto.offset.reset", f"{_OF_CONSUMERS}; leave it out"),
    refused("enable.auto.commit", f"{_OF_CONSUMERS}; leave it out"),
    refused("key.deserializer", _AS_THEY_ARE),
    refused("value.deserializer", _AS_THEY_ARE),
    # Options are often shared between source and sink; Java's producer only warns of these.
    *(
        without_effect(name, _OF_CONSUMERS)
        for name in (
            *("allow.auto.create.topics", "auto.commit.interval.ms", "check.crcs", "client.rack"),
            *("default.api.timeout.ms", "exclude.internal.topics", "fetch.max.bytes", "fetch.max.wait.ms"),
            *("fetch.min.bytes", "group.instance.id", "group.protocol", "group.remote.assignor"),
            *("heartbeat.interval.ms", "isolation.level", "max.partition.fetch.bytes", "max.poll.interval.ms"),
            *("max.poll.records", "partition.assignment.strategy", "session.timeout.ms"),
            "share.acknowledgement.mode",
        )
    ),
)
"""With ``kafka.`` or ``properties.`` before them."""

BARE: Final[Mapping[str, Setting]] = {
    folded(each.name): each
    for each in (
        becomes("acks", "acks", acknowledgements),
        becomes("deliveryGuarantee", "deliveryGuarantee", guarantee),
        becomes("sink.delivery-guarantee", "deliveryGuarantee", guarantee),
        becomes("sink.partitioner", "partitioner", partitioner),
    )
}
"""Options by their own names and by Flink's, whose values are not only ours."""
