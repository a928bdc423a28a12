"""Which streams a sink subscribes to: those of some ids, or those whose ids match a pattern."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass

from asyncsink_dynamic_kafka.metadata.errors import MetadataError
from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.metadata.streams import KafkaStream


class KafkaStreamSubscriber(ABC):
    """Chooses streams, as in Flink's dynamic Kafka source."""

    @abstractmethod
    async def get_subscribed_streams(self, service: KafkaMetadataService) -> Collection[KafkaStream]:
        """The streams as `service` tells of them now; raises what the service raises."""

    @abstractmethod
    def subscribes(self, stream_id: str) -> bool:
        """Whether a stream of this id is one of them."""

    @abstractmethod
    def check(self, stream_ids: Collection[str]) -> None:
        """Raise MetadataError unless these are all the streams that there must be."""


@dataclass(frozen=True)
class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Subscribes to the streams of some ids. Each has to be there."""

    stream_ids: frozenset[str]

    async def get_subscribed_streams(self, service: KafkaMetadataService) -> Collection[KafkaStream]:
        found = await service.describe_streams(sorted(self.stream_ids))
        return [stream for stream_id, stream in found.items() if self.subscribes(stream_id)]

    def subscribes(self, stream_id: str) -> bool:
        return stream_id in self.stream_ids

    def check(self, stream_ids: Collection[str]) -> None:
        if unknown := sorted(self.stream_ids.difference(stream_ids)):
            raise MetadataError(
                f"nothing is known of {_named(unknown)}; add what is missing to the metadata, or leave it out of "
                "streamIds"
            )


@dataclass(frozen=True)
class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Subscribes to every stream whose whole id a regular expression matches: new ones join, and there may be fewer."""

    stream_pattern: str

    async def get_subscribed_streams(self, service: KafkaMetadataService) -> Collection[KafkaStream]:
        return [stream for stream in await service.get_all_streams() if self.subscribes(stream.stream_id)]

    def subscribes(self, stream_id: str) -> bool:
        return re.fullmatch(self.stream_pattern, stream_id) is not None

    def check(self, stream_ids: Collection[str]) -> None:
        if not stream_ids:
            raise MetadataError(
                f"option 'streamPattern' = {self.stream_pattern!r} matches none of the streams that are known; it is a "
                r"regular expression for the whole id, as in orders-.*"
            )


def _named(stream_ids: Collection[str]) -> str:
    shown = ", ".join(map(repr, stream_ids))
    return f"stream {shown}" if len(stream_ids) == 1 else f"streams {shown}"
