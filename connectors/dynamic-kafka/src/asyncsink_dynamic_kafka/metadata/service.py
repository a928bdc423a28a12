"""Who is asked for metadata: the interface of FLIP-246."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from asyncsink_dynamic_kafka.metadata.streams import KafkaStream


class KafkaMetadataService(ABC):
    """Tells which clusters and topics streams have now.

    An instance is the description of a service: it can be pickled, and connects when it is first asked. It is asked
    one thing at a time and has a deadline, at which the call is cancelled; :meth:`aclose` alone may be called while
    another call hangs. Any error means that there is no answer: the picture of before stays in use.
    """

    @abstractmethod
    async def get_all_streams(self) -> Collection[KafkaStream]:
        """Every stream there is, each once."""

    @abstractmethod
    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        """The streams of these ids, by id; ids that nobody knows are left out."""

    @abstractmethod
    async def is_cluster_active(self, cluster_id: str) -> bool:
        """Whether records may be written to the cluster; one that is not stays part of its streams."""

    async def aclose(self) -> None:
        """Give up connections. The service may be asked again after that, and connects anew."""
        return
