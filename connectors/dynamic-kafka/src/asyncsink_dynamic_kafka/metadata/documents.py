"""Services that tell everything at once, in a document."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping

from asyncsink_dynamic_kafka.metadata.layout import MetadataDocument
from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.metadata.streams import KafkaStream


class DocumentMetadataService(KafkaMetadataService):
    """Answers from a document that is fetched again whenever streams are asked for."""

    def __init__(self) -> None:
        self._latest: MetadataDocument | None = None

    @abstractmethod
    async def _fetch(self) -> MetadataDocument:
        """The document as it is now."""

    async def get_all_streams(self) -> Collection[KafkaStream]:
        return list((await self._refresh()).streams.values())

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return (await self._refresh()).describe(stream_ids)

    async def is_cluster_active(self, cluster_id: str) -> bool:
        """As the document says that the streams came from: a newer one might tell of other clusters."""
        return (self._latest or await self._refresh()).is_active(cluster_id)

    async def _refresh(self) -> MetadataDocument:
        self._latest = await self._fetch()
        return self._latest
