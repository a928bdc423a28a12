"""Asks a metadata service again and again in the background, and keeps the last good picture."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, Final, NoReturn

import anyio
from anyio.abc import TaskGroup

from asyncsink.errors import ConfigurationError
from asyncsink.task_groups import cancelled_at_the_end
from asyncsink_dynamic_kafka.metadata.errors import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.restoring import restored_metadata
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
    from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSubscriber
    from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState

DEFAULT_INTERVAL_S: Final = 60.0
# Upstream's is 1: with a minute between two calls, one hiccup of the service would end the query.
DEFAULT_FAILURE_THRESHOLD: Final = 10
DEFAULT_TIMEOUT_S: Final = 30.0
_CLOSE_TIMEOUT_S: Final = 5.0

logger = logging.getLogger(__name__)


@asynccontextmanager
async def discovering(
    service: KafkaMetadataService,
    subscriber: KafkaStreamSubscriber,
    *,
    interval_s: float = DEFAULT_INTERVAL_S,
    failure_threshold: int = DEFAULT_FAILURE_THRESHOLD,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    check: Callable[[Cluster], object] = lambda cluster: None,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[MetadataDiscovery]:
    """A discovery that lives longer than the writers that use it, one at a time; the service is closed at its end.

    :param interval_s: from an answer to the next call; 0 or less for a single answer
    :param failure_threshold: failures in a row that are borne; below 0 for any number
    :param timeout_s: for everything that is asked at one time
    :param check: raises ConfigurationError where a cluster's properties cannot be used
    :param clock: seconds since the epoch
    """
    async with cancelled_at_the_end() as group:
        discovery = MetadataDiscovery(
            group, service, subscriber, interval_s, failure_threshold, timeout_s, check=check, clock=clock
        )
        try:
            yield discovery
        finally:
            # Beside a call that may hang, and before it is cancelled.
            with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True):
                await service.aclose()


class MetadataDiscovery:
    """What is known of the subscribed streams; :func:`discovering` makes one.

    A call belongs to the discovery and not to the writer that has waited for it: it goes on when a micro-batch ends,
    so that a service that takes longer than one is heard all the same. Calls begin only while :meth:`ready` or
    :meth:`run` waits, one after the other.
    """

    def __init__(
        self,
        group: TaskGroup,
        service: KafkaMetadataService,
        subscriber: KafkaStreamSubscriber,
        interval_s: float,
        failure_threshold: int,
        timeout_s: float,
        *,
        check: Callable[[Cluster], object],
        clock: Callable[[], float],
    ) -> None:
        self._group, self._service, self._subscriber = group, service, subscriber
        self._interval_s, self._threshold, self._timeout_s = interval_s, failure_threshold, timeout_s
        self._check, self._clock = check, clock
        self.current: StreamMetadata | None = None
        self.generation = 0
        self.failures = 0
        self.last_error: str | None = None
        self._cause: Exception | None = None
        self._due_at = -inf
        self._answered: anyio.Event | None = None
        self._changed = anyio.Event()

    @property
    def age_s(self) -> float | None:
        """Seconds since the service has said what :attr:`current` holds; None where it holds nothing."""
        return None if self.current is None else max(0.0, self._clock() - self.current.known_at_ms / 1000)

    async def ready(self, restored: Sequence[DynamicKafkaWriterState] = ()) -> StreamMetadata:
        """What a writer that begins now has to go by.

        It waits for the service where nothing is known yet, or where it is time to ask; not where the service has
        failed lately, which :meth:`run` follows up while the writer writes.

        :param restored: counts while the service has not answered
        :raises MetadataUnavailableError: the service does not answer, and the state lacks a stream
        :raises ConfigurationError: the service cannot be asked at all, or its answer is of no use and the state lacks
            a stream
        """
        if self.current is None or (self._is_due and not self.failures):
            await self._discover()
        if self.current is None or self.current.is_restored:
            self._restore(restored)
        assert self.current is not None
        return self.current

    async def run(self) -> None:
        """Ask whenever it is time, until cancelled; returns at once where a single answer is enough, and is there.

        :raises MetadataUnavailableError: the service has failed more often in a row than is borne
        """
        while self._due_at < inf:
            await anyio.sleep(max(0.0, self._due_at - anyio.current_time()))
            await self._discover()
            if 0 <= self._threshold < self.failures:
                raise MetadataUnavailableError(
                    f"{self._failed_calls}, more than 'stream-metadata-discovery-failure-threshold' = "
                    f"{self._threshold} allows; mend the service, or raise the threshold (-1: never fail)"
                ) from self._cause

    async def changed(self, generation: int) -> None:
        """Wait until there is another :attr:`generation` than this one."""
        while self.generation == generation:
            await self._changed.wait()

    @property
    def _is_due(self) -> bool:
        return anyio.current_time() >= self._due_at

    async def _discover(self) -> None:
        """Wait for the end of the call that is under way, or of another one."""
        if self._answered is None:
            self._answered = anyio.Event()
            self._group.start_soon(self._ask, self._answered, name="asyncsink metadata discovery")
        await self._answered.wait()

    async def _ask(self, answered: anyio.Event) -> None:
        try:
            with anyio.move_on_after(self._timeout_s) as scope:
                self._learn(await self._answer())
            if scope.cancelled_caught:
                self._fail(TimeoutError(f"no answer within metadataService.timeout = {self._timeout_s:g} s"))
        except Exception as error:
            self._fail(error)
        except anyio.get_cancelled_exc_class():
            if self._group.cancel_scope.cancel_called:
                raise
            # Under asyncio a call may also end so by itself, as where its connection is closed; raised, it would end
            # whoever waits for it. Nothing is awaited after this, should the cancellation be another's.
            self._fail(ConnectionError("the call was cancelled by itself"))
        finally:
            self._due_at = anyio.current_time() + self._pause_s
            self._answered = None
            answered.set()

    @property
    def _pause_s(self) -> float:
        if self._interval_s > 0:
            return self._interval_s
        # A single answer was asked for, and there is none yet.
        return DEFAULT_INTERVAL_S if self.current is None or self.current.is_restored else inf

    async def _answer(self) -> StreamMetadata:
        known_at_ms = int(self._clock() * 1000)
        streams = await self._subscriber.get_subscribed_streams(self._service)
        self._subscriber.check([stream.stream_id for stream in streams])
        picture = StreamMetadata.of(streams, known_at_ms)
        inactive = {name for name in picture.clusters if not await self._service.is_cluster_active(name)}
        for cluster in picture.clusters.values():
            self._check_properties(cluster)
        return StreamMetadata.of(streams, known_at_ms, inactive) if inactive else picture

    def _check_properties(self, cluster: Cluster) -> None:
        try:
            self._check(cluster)
        except MetadataError:
            raise
        except ConfigurationError as error:
            raise MetadataError(f"cluster {cluster.name!r} cannot be connected to: {error}") from error

    def _learn(self, picture: StreamMetadata) -> None:
        if self.failures:
            logger.info("metadata is discovered again after %d failures", self.failures)
        if self.current is not None and (gone := sorted(set(self.current.streams) - set(picture.streams))):
            logger.warning("streams %s are not there any more; rows of them are rejected", ", ".join(gone))
        self.failures, self.last_error, self._cause = 0, None, None
        self._show(picture)

    def _fail(self, error: Exception) -> None:
        self.failures += 1
        self.last_error, self._cause = f"{type(error).__name__}: {error}", error
        if self.failures == 1:
            logger.warning("%s; what was known before stays in use", self._failed_calls)

    def _show(self, picture: StreamMetadata) -> None:
        before, self.current = self.current, picture
        if before is None or not picture.says_the_same_as(before):
            self.generation += 1
            self._changed.set()
            self._changed = anyio.Event()

    def _restore(self, restored: Sequence[DynamicKafkaWriterState]) -> None:
        if isinstance(self._cause, ConfigurationError) and not isinstance(self._cause, MetadataError):
            # No later call will do better, and whoever can mend it is there now.
            raise self._cause
        try:
            picture = restored_metadata(restored, self._subscriber)
        except MetadataError as error:
            if self.current is None:
                self._refuse(error)
            return
        if self.current is None or self.current.known_at_ms < picture.known_at_ms:
            self._show(picture)

    def _refuse(self, lacking: MetadataError) -> NoReturn:
        if isinstance(self._cause, MetadataError):
            raise MetadataError(str(self._cause)) from self._cause
        # Not the remedy: nothing is wrong with the metadata, as far as anybody knows.
        what, _, _ = str(lacking).partition("; ")
        raise MetadataUnavailableError(
            f"{self._failed_calls}; without it {what}, and no state of an earlier writer tells more; start again when "
            "the service answers"
        ) from self._cause

    @property
    def _failed_calls(self) -> str:
        times = "" if self.failures == 1 else f" {self.failures} times in a row"
        return f"the metadata service {type(self._service).__name__} has failed{times} ({self.last_error})"
