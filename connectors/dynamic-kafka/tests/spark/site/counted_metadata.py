"""A metadata service of a user's own that notes each call, as Spark's workers find it on their path."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from asyncsink_dynamic_kafka import ClusterMetadata, KafkaMetadataService, KafkaStream


class CountedMetadataService(KafkaMetadataService):
    """Knows one stream; `properties` are its id, the file with a line for each call, and its clusters as JSON."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._stream_id, self._calls = properties["stream"], Path(properties["calls"])
        self._clusters: Mapping[str, str] = json.loads(properties["clusters"])

    async def get_all_streams(self) -> Collection[KafkaStream]:
        with self._calls.open("a") as calls:
            calls.write(f"{os.getpid()}\n")
        topics = frozenset({self._stream_id})
        found = {name: ClusterMetadata(topics, {"bootstrap.servers": at}) for name, at in self._clusters.items()}
        return [KafkaStream(self._stream_id, found)]

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return {each.stream_id: each for each in await self.get_all_streams() if each.stream_id in stream_ids}

    async def is_cluster_active(self, cluster_id: str) -> bool:
        return True

    async def aclose(self) -> None:
        pass
