"""Virtual time, and a metadata service that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import anyio
import anyio.lowlevel

from asyncsink_dynamic_kafka import ClusterMetadata, KafkaMetadataService, KafkaStream


def stream(stream_id: str = "orders", **topics: str) -> KafkaStream:
    """A stream with a topic, or several with blanks between them, in each cluster: ``stream("s", A="one two")``."""
    topics = topics or {"A": "orders"}
    return KafkaStream(stream_id, {name: cluster(name, *named.split()) for name, named in topics.items()})


def cluster(name: str, *topics: str, **properties: str) -> ClusterMetadata:
    """A cluster's part of a stream; underscores in the names of properties stand for dots."""
    servers = {"bootstrap.servers": f"{name.lower()}:9092"}
    return ClusterMetadata(
        frozenset(topics), servers | {key.replace("_", "."): each for key, each in properties.items()}
    )


class FakeService(KafkaMetadataService):
    """Knows `streams`; `answer` is awaited before each call, and may raise or wait."""

    def __init__(self, *streams: KafkaStream) -> None:
        self.streams = list(streams)
        self.inactive: set[str] = set()
        self.answer: Callable[[], Any] = anyio.lowlevel.checkpoint
        self.calls: list[float] = []
        self.under_way = 0
        self.most_under_way = 0
        self.closed_beside = -1

    async def get_all_streams(self) -> Collection[KafkaStream]:
        await self._called()
        return list(self.streams)

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        await self._called()
        return {each.stream_id: each for each in self.streams if each.stream_id in stream_ids}

    async def is_cluster_active(self, cluster_id: str) -> bool:
        return cluster_id not in self.inactive

    async def aclose(self) -> None:
        self.closed_beside = self.under_way

    async def _called(self) -> None:
        self.calls.append(anyio.current_time())
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self.answer()
        finally:
            self.under_way -= 1

    async def refuse(self) -> None:
        """An `answer`: the service is down."""
        raise ConnectionError("connection refused")

    async def hang(self) -> None:
        """An `answer` that never comes."""
        await anyio.sleep_forever()
