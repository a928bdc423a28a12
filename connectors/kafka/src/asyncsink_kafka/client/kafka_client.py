"""Sends ready record batches through aiokafka, which repeats, routes and authenticates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from asyncsink.config import AsyncSinkWriterConfig, RetryPolicy
from asyncsink.errors import RequestError
from asyncsink.failures import FailureKind
from asyncsink_kafka.client import codes
from asyncsink_kafka.client.errors import AGAIN_UNDER_A_NEW_EPOCH, ERRORS
from asyncsink_kafka.client.handover import (
    Handover,
    choose_handover,
    has_partitions,
    open_transaction,
    transaction_error,
)
from asyncsink_kafka.client.metadata import Topics
from asyncsink_kafka.client.producers import Producers, jitter_s
from asyncsink_kafka.client.settings import producer_arguments
from asyncsink_kafka.client.watching import Observer, Partition, ProduceWatch, UnderWay

if TYPE_CHECKING:
    from asyncsink_kafka.encoding import ReadyBatch
    from asyncsink_kafka.options import KafkaOptions
    from asyncsink_kafka.transactions.committable import KafkaTransaction
    from asyncsink_kafka.transactions.session import TransactionSession

_OF_THE_PRODUCER = AGAIN_UNDER_A_NEW_EPOCH | {
    codes.CLIENT_CLOSED,
    codes.CLIENT_FAILED,
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",
    "TRANSACTION_ABORTABLE",
}
_PERMISSIONS = {"TOPIC_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}


@asynccontextmanager
async def connect(
    options: KafkaOptions,
    config: AsyncSinkWriterConfig,
    handover: Handover | None = None,
    session: TransactionSession | None = None,
) -> AsyncIterator[KafkaClient]:
    """A client whose brokers have answered. Left with an exception it gives up what is under way.

    Connecting is repeated for ``config.retry.timeout_s``.

    :param handover: how batches are given to aiokafka; by default as quickly as the installed version allows
    :param session: where the ids of transactions come from; None: there are none
    :raises FatalRequestError: the brokers do not let us in: credentials, certificates, missing permission
    :raises DestinationUnavailableError: no broker could be reached in that time
    """
    handover = handover or choose_handover(options.idempotent)
    arguments = await producer_arguments(options, config, compresses=handover.compresses)
    client = KafkaClient(arguments, config.retry, handover, max_block_s=options.max_block_s, session=session)
    try:
        await client.open()
        yield client
    except BaseException:
        await client.abort()
        raise
    await client.aclose()


class KafkaClient:
    """Ready batches to partitions; :func:`connect` makes one.

    Of each partition the caller has at most one batch in here at a time. Numbers and order rest on that: aiokafka
    counts a batch's sequence numbers when it takes it and cannot take them back.

    :param arguments: those of ``AIOKafkaProducer``
    :param handover: how batches are given to aiokafka
    :param max_block_s: how long to wait for a topic that the cluster does not have yet
    :param session: where the ids of transactions come from; None: there are none
    """

    def __init__(
        self,
        arguments: Mapping[str, Any],
        retry: RetryPolicy,
        handover: Handover,
        *,
        max_block_s: float,
        session: TransactionSession | None = None,
    ) -> None:
        self._handover, self._retry, self._session = handover, retry, session
        self._records = 0
        self._watch = ProduceWatch(handover.prepared)
        self._topics = Topics(max_block_s, retry.initial_backoff_s)
        self._producers = Producers(arguments, retry, handover, self._watch, self._topics.names, self._refuse, session)
        self._refusal: RequestError | None = None
        self._waiting: set[anyio.CancelScope] = set()
        self._closed = False

    @property
    def observer(self) -> Observer | None:
        """Who is told of every produce request."""
        return self._watch.observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self._watch.observer = observer

    @property
    def last_error(self) -> str | None:
        """What the last failed attempt said, whether it was repeated or not; None if none has failed."""
        return self._watch.last_error

    async def open(self) -> None:
        """Connect; raises what :func:`connect` raises."""
        async with self._producers.use():
            pass

    async def partitions(self, topic: str, partition: int = 0) -> tuple[int, Sequence[int]]:
        """How many partitions the topic has, and which have a leader; new ones show after ``metadataMaxAge``.

        :param partition: one that it should have: brokers are asked until it has, or ``maxBlock`` is over
        :raises UnknownTopicError: the cluster does not have the topic, after ``maxBlock``
        :raises RequestError: it may not be described, or no broker answers
        """
        with self._until_abort():
            async with self._producers.use() as producer:
                return await self._topics.partitions(producer.client, topic, partition)
        raise self._given_up()

    async def send(self, topic: str, partition: int, batch: ReadyBatch) -> None:
        """Return when the batch is acknowledged as ``acks`` asks. What can be repeated is, without an end.

        A cancelled call leaves open whether the batch arrives. Order then holds no longer: abort.

        :raises RequestError: a definite refusal, by Kafka's name of it; nothing of the batch is stored, unless an
            earlier try of it was that nobody answered
        """
        with self._until_abort():
            return await self._send((topic, partition), batch)
        raise self._given_up()

    @asynccontextmanager
    async def brokers(self) -> AsyncIterator[Any]:
        """aiokafka's own client, for requests that are none of a producer's.

        :raises RequestError: the client was given up
        """
        with self._until_abort():
            async with self._producers.use() as producer:
                yield producer.client
                return
        raise self._given_up()

    async def prepare(self) -> KafkaTransaction | None:
        """Leave the transaction to whoever commits it; the next batch begins another one. None if it has no record.

        Nothing may be under way.

        :raises DeliveryError: it is not open any more
        """
        assert self._session is not None
        producer = self._producers.current
        if producer is None or not self._records:
            return None
        transaction = await self._session.prepared(*open_transaction(producer), self._records)
        self._records = 0
        self._producers.expire()
        return transaction

    async def abort(self) -> None:
        """Give everything up at once: calls under way raise CLIENT_CLOSED, connections are closed. May be repeated."""
        producer = None if self._closed else self._producers.current
        self._closed = True
        for each in self._waiting:
            each.cancel()
        await self._producers.abort()
        if self._session is not None and producer is not None:
            await self._session.abort(*open_transaction(producer))

    async def aclose(self) -> None:
        """Close the connections; a client that still has something under way, or not prepared, is aborted."""
        if self._closed or self._waiting or self._leaves_a_transaction:
            await self.abort()
        else:
            self._closed = True
            await self._producers.aclose()

    @property
    def _leaves_a_transaction(self) -> bool:
        """Whether one is open that nobody will commit; without a record too, where the brokers have refused all."""
        producer = None if self._session is None else self._producers.current
        return producer is not None and has_partitions(producer)

    @contextmanager
    def _until_abort(self) -> Iterator[None]:
        if self._closed or self._refusal is not None:
            raise self._given_up()
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                yield
            finally:
                self._waiting.discard(scope)

    def _refuse(self, refusal: RequestError) -> None:
        """Credentials that served no longer do: whatever is under way waits in vain."""
        self._refusal = refusal
        self._watch.last_error = str(refusal)
        for each in self._waiting:
            each.cancel()

    def _given_up(self) -> RequestError:
        if self._refusal is not None and not self._closed:
            return RequestError(self._refusal.code, self._refusal.message)
        said = f"; the last error was {self.last_error}" if self.last_error else ""
        return RequestError(codes.CLIENT_CLOSED, f"the Kafka client was given up{said}.")

    async def _send(self, partition: Partition, batch: ReadyBatch) -> None:
        under_way = self._watch.under_way[partition] = UnderWay(batch.count)
        renewed, failures = False, 0
        try:
            while (failure := await self._attempt(partition, batch, under_way)) is not None:
                if self._session is not None and not _says_enough(failure.code, under_way):
                    raise RequestError(codes.TRANSACTION_FAILED, str(failure)) from failure
                if failure.code in AGAIN_UNDER_A_NEW_EPOCH and not renewed:
                    renewed = True
                    self._let_go(partition, new_epoch=True)
                elif _may_mend(failure.code):
                    self._let_go(partition, new_epoch=False)
                    await anyio.sleep(jitter_s(self._retry, failures))
                    failures += 1
                else:
                    self._let_go(partition, new_epoch=under_way.may_be_stored)
                    raise failure
        finally:
            del self._watch.under_way[partition]

    async def _attempt(self, partition: Partition, batch: ReadyBatch, under_way: UnderWay) -> RequestError | None:
        """Give the batch to aiokafka; what it says when it gives it back, or None when it is stored."""
        under_way.code = None
        topic, number = partition
        async with self._producers.use() as producer:
            try:
                await self._topics.check(producer.client, topic, number)
                builder = self._handover.builder(producer, partition, batch)
                await (await producer.send_batch(builder, topic, partition=number))
            except KafkaError as error:
                if self._session is not None and (reason := transaction_error(producer)) is not None:
                    return _given_up_with(reason)
                return _failure(error, under_way)
            except BaseException:
                # It may yet arrive, or not.
                self._let_go(partition, new_epoch=True)
                raise
            self._handover.stored(partition, batch.count)
            self._records += batch.count
        return None

    def _let_go(self, partition: Partition, *, new_epoch: bool) -> None:
        # A transaction has one epoch; one that would need another is not gone on with.
        if self._session is None and self._handover.given_up(partition, new_epoch=new_epoch):
            self._producers.expire()


def _says_enough(code: str, under_way: UnderWay) -> bool:
    """Whether a transaction holds, after a failure, what it held before and nothing else; or cannot be made at all."""
    return code in _PERMISSIONS or _may_mend(code) or not (code in _OF_THE_PRODUCER or under_way.may_be_stored)


def _given_up_with(reason: BaseException) -> RequestError:
    """What a batch fails with whose transaction was given up, perhaps for another batch."""
    code, told = codes.name_of_exception(reason), str(reason.__cause__ or reason)
    if isinstance(reason, TopicAuthorizationFailedError):
        told = f"the topic {', '.join(map(repr, sorted(reason.args[0])))}"
    failure = RequestError(code if code in _PERMISSIONS else codes.TRANSACTION_FAILED, told)
    failure.__cause__ = reason
    return failure


def _failure(error: KafkaError, under_way: UnderWay) -> RequestError:
    # The answer's own code where there was one: aiokafka does not know them all.
    failure = RequestError(under_way.code or codes.name_of_exception(error), under_way.message or str(error))
    failure.__cause__ = error
    return failure


def _may_mend(code: str) -> bool:
    """Whether the same batch may be taken another time.

    A broker that does not know the topic may not know it yet: whether the cluster does is for the metadata to say.
    """
    kind: Any = ERRORS.kind_of(code)
    return kind in (FailureKind.RETRYABLE, FailureKind.THROTTLED) or code == "UNKNOWN_TOPIC_OR_PARTITION"
