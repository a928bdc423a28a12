"""aiokafka's producer: started with patience, renewed when its numbers are used up, ended with or without it."""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, NodeNotReadyError

from asyncsink.config import RetryPolicy
from asyncsink.errors import DestinationUnavailableError, FatalRequestError, RequestError
from asyncsink_kafka.client.diagnosis import Reason, ask, reason_of
from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.client.watching import ProduceWatch
from asyncsink_kafka.security import keep_authenticated

if TYPE_CHECKING:
    from asyncsink_kafka.transactions.session import TransactionSession

logger = logging.getLogger(__name__)

_STOP_S: Final = 5.0
_UNREACHABLE: Final = (
    "Check bootstrapServers and securityProtocol, that the brokers run, and that the addresses that they advertise can "
    "be reached from here."
)


class Producers:
    """The one producer that is in use, and its successor once :meth:`expire` has been called.

    :param arguments: those of ``AIOKafkaProducer``
    :param session: gives each producer an id for a transaction of its own; None: there are no transactions
    :param topics: those whose metadata are kept; read when a producer has been started
    :param refused: is told when the brokers do not accept any more who we are
    """

    def __init__(
        self,
        arguments: Mapping[str, Any],
        retry: RetryPolicy,
        handover: Handover,
        watch: ProduceWatch,
        topics: Iterable[str],
        refused: Callable[[RequestError], None],
        session: TransactionSession | None = None,
    ) -> None:
        self._arguments, self._retry, self._topics = arguments, retry, topics
        self._session = session
        self._tell = refused
        self._refusal: RequestError | None = None
        self._starting: anyio.CancelScope | None = None
        self._handover, self._watch = handover, watch
        self._producer: AIOKafkaProducer | None = None
        self._expired = True
        self._users = 0
        self._idle = anyio.Event()
        self._turnstile = anyio.Lock()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[AIOKafkaProducer]:
        """The producer for one batch. An expired one is renewed first, as soon as nobody uses it any more.

        :raises FatalRequestError: the brokers do not let us in
        :raises DestinationUnavailableError: no broker could be reached within ``retry.timeout_s``
        """
        if self._expired:
            async with self._turnstile:
                if self._expired:
                    await self._renew()
        assert self._producer is not None
        self._users += 1
        try:
            yield self._producer
        finally:
            self._users -= 1
            if not self._users:
                self._idle.set()

    @property
    def current(self) -> AIOKafkaProducer | None:
        """The one that has been started, unless its successor is to come."""
        return None if self._expired else self._producer

    def expire(self) -> None:
        """Let the next use begin with a new producer."""
        self._expired = True

    async def aclose(self) -> None:
        """End the producer, which has nothing under way any more."""
        if self._producer is not None:
            with anyio.move_on_after(_STOP_S, shield=True) as scope:
                await self._producer.stop()
            if scope.cancelled_caught:
                await self.abort()

    async def abort(self) -> None:
        """End the producer at once, with whatever it has under way."""
        self._watch.close()
        if self._producer is not None:
            # Every wait in it has its own end.
            with anyio.CancelScope(shield=True):
                await self._handover.abort(self._producer, self._watch.requests)

    async def _renew(self) -> None:
        while self._users:
            self._idle = anyio.Event()
            await self._idle.wait()
        if self._producer is not None:
            if self._session is None:
                logger.info("The producer is renewed: the brokers' count of its records does not fit any more.")
            await self.aclose()
        self._producer = await self._start()
        self._handover.renewed()
        self._expired = False

    async def _start(self) -> AIOKafkaProducer:
        deadline_s = anyio.current_time() + self._retry.timeout_s
        failures = 0
        own = {} if self._session is None else await self._session.arguments()
        while True:
            producer = AIOKafkaProducer(**self._arguments, **own)
            reasons = await self._try(producer, deadline_s)
            if not reasons:
                if topics := list(self._topics):
                    producer.client.set_topics(topics)
                return producer
            wait_s = jitter_s(self._retry, failures)
            self._judge(reasons, is_over=anyio.current_time() + wait_s >= deadline_s)
            await anyio.sleep(wait_s)
            failures += 1

    async def _try(self, producer: AIOKafkaProducer, deadline_s: float) -> list[Reason]:
        """Start it; or end it, and say why it does not start.

        :raises Exception: it is no trouble of the brokers
        """
        self._watch.attach(producer.client)
        keep_authenticated(producer, refused=self._refuse)
        self._refusal = None
        error: Exception = TimeoutError("no answer")
        started = False
        try:
            with anyio.CancelScope(deadline=deadline_s) as self._starting:
                await producer.start()
                if self._session is not None:
                    await producer.begin_transaction()
                started = True
        except Exception as failure:
            error = failure
        finally:
            self._starting = None
            if not started:
                # At once: by the time it is stopped it may have heard of brokers.
                error = _told(error, producer)
                with anyio.CancelScope(shield=True):
                    await producer.stop()
        if started:
            return []
        if self._refusal is not None:
            return [Reason(str(self._refusal), may_mend=False)]
        return await self._reasons(producer, error)

    async def _reasons(self, producer: AIOKafkaProducer, error: Exception) -> list[Reason]:
        if isinstance(error, KafkaError | OSError):
            reason = reason_of(error)
            return (await self._ask(producer) if reason.may_mend else []) or [reason]
        # What GSSAPI raises, or aiokafka at an answer that it cannot read. If others can connect, it is a bug.
        if reasons := await self._ask(producer):
            return reasons
        raise error

    def _refuse(self, refusal: RequestError) -> None:
        if self._starting is not None:
            self._refusal = refusal
            self._starting.cancel()
        else:
            self._tell(refusal)

    async def _ask(self, producer: AIOKafkaProducer) -> list[Reason]:
        """What the servers say that the user has named, and then the brokers that they know."""
        addresses = {(host, port) for host, port, _ in producer.client.hosts}
        addresses |= {(each.host, each.port) for each in producer.client.cluster.brokers()}
        return await ask(sorted(addresses), self._arguments)

    def _judge(self, reasons: list[Reason], *, is_over: bool) -> None:
        servers = ", ".join(self._arguments["bootstrap_servers"])
        if definite := [each.text for each in reasons if not each.may_mend]:
            raise FatalRequestError(f"Kafka at {servers} refuses this client: {definite[0]}")
        said = "; ".join(each.text for each in reasons)
        if is_over:
            raise DestinationUnavailableError(
                f"Kafka at {servers} could not be reached within retry.timeout = {self._retry.timeout_s:g} s: {said}. "
                f"{_UNREACHABLE}"
            )
        self._watch.last_error = said
        logger.warning("Kafka at %s cannot be reached yet: %s", servers, said)


def _told(error: Exception, producer: AIOKafkaProducer) -> Exception:
    """The error, or what it means: where a server names no broker, aiokafka fails a bare assertion, or waits."""
    if isinstance(error, AssertionError | TimeoutError) and not producer.client.cluster.brokers():
        error = NodeNotReadyError("the cluster names no broker yet")
    return error


def jitter_s(retry: RetryPolicy, waits: int) -> float:
    """Full jitter after so many waits in a row: uniform between 0 and the exponential backoff."""
    return random.uniform(0, min(retry.max_backoff_s, retry.initial_backoff_s * 2.0 ** min(waits, 60)))
