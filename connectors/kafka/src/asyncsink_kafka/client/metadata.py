"""Which partitions a topic has, by aiokafka's public metadata."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import anyio

from asyncsink.errors import RequestError
from asyncsink_kafka.client.errors import UnknownTopicError


class Topics:
    """The topics that a client has been asked for.

    Each is named to the client even where it knows it already: as long as nothing has been named, it asks for every
    topic of the cluster, and from then on only for those that were.

    :param max_block_s: how long to wait for a topic or a partition that the cluster does not have yet
    """

    def __init__(self, max_block_s: float, retry_backoff_s: float) -> None:
        self._max_block_s, self._retry_backoff_s = max_block_s, retry_backoff_s
        self.names: set[str] = set()
        self._lacking_until_s: dict[str, float] = {}

    async def partitions(self, client: Any, topic: str, partition: int = 0) -> tuple[int, Sequence[int]]:
        """How many partitions the topic has, and which of them have a leader.

        A topic that does not get the partition in `max_block_s` is not waited for again for as long.

        :param client: an ``AIOKafkaClient``
        :param partition: one that the topic should have; what is known may be older than it
        :raises UnknownTopicError: the cluster does not have it, after `max_block_s`
        :raises RequestError: it may not be written to, or no broker answers
        """
        cluster = client.cluster
        if topic not in self.names:
            self.names.add(topic)
            client.add_topic(topic)
        if anyio.current_time() < self._lacking_until_s.get(topic, -inf):
            partition = 0
        if not _has(cluster, topic, partition):
            answered = await self._wait(client, topic, partition)
            if not _has(cluster, topic, 0):
                raise self._unknown(topic, answered)
            if not _has(cluster, topic, partition):
                self._lacking_until_s[topic] = anyio.current_time() + self._max_block_s
        return len(cluster.partitions_for_topic(topic)), sorted(cluster.available_partitions_for_topic(topic))

    async def check(self, client: Any, topic: str, partition: int) -> None:
        """Raise what :meth:`partitions` raises, and UnknownTopicError if the topic has no such partition."""
        if topic not in self.names or partition not in (client.cluster.partitions_for_topic(topic) or ()):
            count, _ = await self.partitions(client, topic, partition)
            if not 0 <= partition < count:
                raise UnknownTopicError(
                    f"topic {topic!r} has {count} partitions, so that there is no partition {partition}; "
                    "leave the partition out or give one that exists."
                )

    async def _wait(self, client: Any, topic: str, partition: int) -> bool:
        """Ask until the topic has the partition, or the time is over; whether a broker has answered last."""
        answered = False
        with anyio.move_on_after(self._max_block_s):
            while True:
                answered = bool(await client.force_metadata_update())
                if _has(client.cluster, topic, partition):
                    break
                if topic in client.cluster.unauthorized_topics:
                    raise RequestError("TOPIC_AUTHORIZATION_FAILED", f"topic {topic!r} may not be described.")
                await anyio.sleep(self._retry_backoff_s)
        return answered

    def _unknown(self, topic: str, answered: bool) -> RequestError:
        waited = f"within maxBlock = {self._max_block_s:g} s"
        if answered:
            return UnknownTopicError(f"the cluster has no topic {topic!r}, nor has made one {waited}; create it.")
        return RequestError("NETWORK_EXCEPTION", f"no broker has told of topic {topic!r} {waited}.")


def _has(cluster: Any, topic: str, partition: int) -> bool:
    """Whether the partition is known, with a leader or without; a topic that exists has number 0."""
    return partition < len(cluster.partitions_for_topic(topic) or ())
