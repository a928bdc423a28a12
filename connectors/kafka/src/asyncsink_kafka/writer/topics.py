"""The topics that rows name: how many partitions they have, and what to do where none is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import anyio

from asyncsink.config import RetryPolicy
from asyncsink.errors import DestinationUnavailableError, FatalRequestError, RequestError
from asyncsink.failures import FailureKind
from asyncsink_kafka.client.errors import ERRORS

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient

Known = Mapping[str, tuple[int, Sequence[int]]]
"""By topic, the number of its partitions and those that have a leader."""


class Topics:
    """Asks the client, which knows, and remembers what it did not find.

    :param unknown_for_s: for how long a topic that was not found is not asked for again
    """

    def __init__(self, retry: RetryPolicy, unknown_for_s: float, clock: Callable[[], float]) -> None:
        self._retry, self._unknown_for_s, self._clock = retry, unknown_for_s, clock
        self._unknown: dict[str, tuple[float, RequestError]] = {}

    async def partitions(self, client: KafkaClient, topics: Sequence[str]) -> tuple[Known, Mapping[str, RequestError]]:
        """What is known of these topics; and by topic, why nothing is known of the others.

        :raises FatalRequestError: a topic may not be looked at
        :raises DestinationUnavailableError: no broker has answered for ``retry.timeout``
        """
        known: dict[str, tuple[int, Sequence[int]]] = {}
        unknown: dict[str, RequestError] = {}
        for topic in topics:
            until_s, refusal = self._unknown.get(topic, (-inf, None))
            if refusal is None or self._clock() >= until_s:
                found = await self._asked(client, topic)
                if not isinstance(found, RequestError):
                    known[topic] = found
                    self._unknown.pop(topic, None)
                    continue
                refusal = found
                self._unknown[topic] = (self._clock() + self._unknown_for_s, refusal)
            unknown[topic] = refusal
        return known, unknown

    async def _asked(self, client: KafkaClient, topic: str) -> tuple[int, Sequence[int]] | RequestError:
        deadline_s = self._clock() + self._retry.timeout_s
        while True:
            try:
                return await client.partitions(topic)
            except RequestError as refusal:
                kind = ERRORS.kind_of(refusal.code)
                if kind is FailureKind.REJECTED:
                    return refusal
                if kind not in (FailureKind.RETRYABLE, FailureKind.THROTTLED):
                    told = f"topic {topic!r}: {refusal}".rstrip(".")
                    raise FatalRequestError(f"{told}. {ERRORS.remedy(refusal.code)}".rstrip()) from refusal
                if self._clock() >= deadline_s:
                    raise DestinationUnavailableError(
                        f"nothing could be learned of topic {topic!r} for {self._retry.timeout_s:g} s (option "
                        f"retry.timeout): {refusal}; see whether the brokers are up, or raise the option"
                    ) from refusal
            await anyio.sleep(self._retry.initial_backoff_s)
