"""Which streams a sink subscribes to: those of some ids, or those whose ids match a pattern."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

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
        if not isinstance(found, Mapping):
            raise _no_streams("describe_streams", found, "a mapping of ids to KafkaStreams")
        return [each for each in _checked("describe_streams", found.values()) if self.subscribes(each.stream_id)]

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
        found = await service.get_all_streams()
        if not isinstance(found, Collection):
            raise _no_streams("get_all_streams", found, "a collection of KafkaStreams")
        return [each for each in _checked("get_all_streams", found) if self.subscribes(each.stream_id)]

    def subscribes(self, stream_id: str) -> bool:
        return re.fullmatch(self.stream_pattern, stream_id) is not None

    def check(self, stream_ids: Collection[str]) -> None:
        if not stream_ids:
            raise MetadataError(
                f"option 'streamPattern' = {self.stream_pattern!r} matches none of the streams that are known; it is a "
                r"regular expression for the whole id, as in orders-.*"
            )


def _checked(method: str, found: Collection[Any]) -> Collection[KafkaStream]:
    """What a service of a user's own returned, which may be anything."""
    for each in found:
        if not isinstance(each, KafkaStream):
            raise _no_streams(method, each, "KafkaStreams")
        if not isinstance(each.stream_id, str) or not isinstance(each.cluster_metadata_map, Mapping):
            raise _no_streams(method, each, "KafkaStreams whose ids are strings, and whose clusters are a mapping")
    return found


def _no_streams(method: str, found: object, wanted: str) -> MetadataError:
    return MetadataError(f"{method} of the metadata service returned a {type(found).__name__}; let it return {wanted}")


def _named(stream_ids: Collection[str]) -> str:
    shown = ", ".join(map(repr, stream_ids))
    return f"stream {shown}" if len(stream_ids) == 1 else f"streams {shown}"
