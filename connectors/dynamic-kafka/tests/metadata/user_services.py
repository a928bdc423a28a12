"""Metadata services as users write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from asyncsink_dynamic_kafka import ClusterMetadata, KafkaMetadataService, KafkaStream


class OneStream(KafkaMetadataService):
    """Knows one stream; may be given properties."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.properties = properties

    async def get_all_streams(self) -> Collection[KafkaStream]:
        return [KafkaStream("orders", {"A": ClusterMetadata(frozenset({"orders"}), {"bootstrap.servers": "a:1"})})]

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return {each.stream_id: each for each in await self.get_all_streams() if each.stream_id in stream_ids}

    async def is_cluster_active(self, cluster_id: str) -> bool:
        return True


class NeedsRegion(OneStream):
    """Cannot be made of anything else than the properties that it needs."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = {"region": properties["region"]}


made = OneStream()
