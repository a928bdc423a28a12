"""The topics that rows name: how many partitions they have, and what to do where none is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import anyio

from asyncsink.config import RetryPolicy
from asyncsink.errors import DeliveryError, DestinationUnavailableError, RequestError
from asyncsink.failures import FailureKind
from asyncsink_kafka.client.errors import ERRORS
from asyncsink_kafka.writer.rejections import fatal

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient

Known = Mapping[str, tuple[int, Sequence[int]]]
"""By topic, the number of its partitions and those that have a leader."""

_Answer = tuple[int, Sequence[int]] | RequestError | DeliveryError


class Topics:
    """Asks the client, which knows, and remembers what it did not find.

    :param unknown_for_s: for how long a topic that was not found is not asked for again
    """

    def __init__(self, retry: RetryPolicy, unknown_for_s: float, clock: Callable[[], float]) -> None:
        self._retry, self._unknown_for_s, self._clock = retry, unknown_for_s, clock
        self._found: set[str] = set()
        self._unknown: dict[str, tuple[float, RequestError]] = {}

    async def partitions(
        self, client: KafkaClient, topics: Sequence[str], highest: Mapping[str, int]
    ) -> tuple[Known, Mapping[str, RequestError]]:
        """What is known of these topics; and by topic, why nothing is known of the others.

        :param highest: by topic, the highest partition that a row asks for; one that is new is looked for
        :raises FatalRequestError: a topic may not be looked at
        :raises DestinationUnavailableError: no broker has answered for ``retry.timeout``
        """
        asked = {topic: highest.get(topic, 0) for topic in topics if not self._is_unknown(topic)}
        answers = await self._answers(client, asked)
        known: dict[str, tuple[int, Sequence[int]]] = {}
        for topic, answer in answers.items():
            if isinstance(answer, DeliveryError):
                raise answer
            if isinstance(answer, RequestError):
                self._unknown[topic] = (self._clock() + self._unknown_for_s, answer)
            else:
                known[topic] = answer
                self._found.add(topic)
        return known, {topic: self._unknown[topic][1] for topic in topics if topic not in known}

    def _is_unknown(self, topic: str) -> bool:
        return self._clock() < self._unknown.get(topic, (-inf, None))[0]

    async def _answers(self, client: KafkaClient, topics: Mapping[str, int]) -> dict[str, _Answer]:
        """What is said of each; those that are asked for the first time at once, as each may take its time."""
        answers: dict[str, _Answer] = {}

        async def ask(topic: str, partition: int) -> None:
            answers[topic] = await self._asked(client, topic, partition)

        async with anyio.create_task_group() as group:
            for topic, partition in topics.items():
                if topic in self._found or len(topics) == 1:
                    await ask(topic, partition)
                else:
                    group.start_soon(ask, topic, partition)
        return answers

    async def _asked(self, client: KafkaClient, topic: str, partition: int) -> _Answer:
        deadline_s = self._clock() + self._retry.timeout_s
        while True:
            try:
                return await client.partitions(topic, partition)
            except RequestError as refusal:
                kind = ERRORS.kind_of(refusal.code)
                if kind is FailureKind.REJECTED:
                    return refusal
                if kind not in (FailureKind.RETRYABLE, FailureKind.THROTTLED):
                    return fatal(f"topic {topic!r}", refusal)
                if self._clock() >= deadline_s:
                    return self._unavailable(topic, refusal)
            await anyio.sleep(self._retry.initial_backoff_s)

    def _unavailable(self, topic: str, refusal: RequestError) -> DestinationUnavailableError:
        error = DestinationUnavailableError(
            f"nothing could be learned of topic {topic!r} for {self._retry.timeout_s:g} s (option retry.timeout): "
            f"{refusal}; see whether the brokers are up, or raise the option"
        )
        error.__cause__ = refusal
        return error
