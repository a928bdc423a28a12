"""Requests to the brokers that keep transactions: begin anew, end, describe, list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import IncompatibleBrokerVersion, KafkaError
from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.transaction import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

from asyncsink.config import RetryPolicy
from asyncsink.errors import DestinationUnavailableError, FatalRequestError, RequestError
from asyncsink_kafka.client import codes
from asyncsink_kafka.client.errors import ERRORS
from asyncsink_kafka.client.producers import jitter_s
from asyncsink_kafka.transactions.wire import DescribeTransactionsRequest, ListTransactionsRequest

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient

T = TypeVar("T")

OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""States in which a transaction holds up those who read what is committed."""

UNDECIDED: Final = ("Ongoing",)
"""States in which a transaction is only ended when somebody asks for it, or its timeout is over."""

_BROKER: Final = 4
_MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
_NOT_THE_ID: Final = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
_NOT_THE_TOPIC: Final = "TOPIC_AUTHORIZATION_FAILED"
_NOT_FOUND: Final = "TRANSACTIONAL_ID_NOT_FOUND"
_ELSEWHERE: Final = frozenset({"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", codes.NEVER_SENT})
_AGAIN: Final = _ELSEWHERE | {
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NETWORK_EXCEPTION",
    "REQUEST_TIMED_OUT",
}
_NOBODY: Final = 0
"""Producer id and epoch of a request that has nothing to change."""
_AT_ONCE: Final = 32
"""Requests that are under way at the same time."""


@dataclass(frozen=True, slots=True)
class Described:
    """How a transaction stands.

    :param state: Kafka's name of it
    :param timeout_ms: after which the brokers abort it
    :param started_ms: when it was begun, since the epoch; -1 if none is open
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    partitions: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """For people: whom it holds up, since when, and until when at most."""
        since = datetime.fromtimestamp(max(self.started_ms, 0) / 1000, UTC)
        where = ", ".join(f"{topic}/{number}" for topic, number in sorted(self.partitions)) or "no partition yet"
        return (
            f"{self.transactional_id}: {self.state} since {since:%Y-%m-%d %H:%M:%S} UTC, for "
            f"{self.timeout_ms / 1000:g} s at most, in {where}"
        )


class TransactionCoordinators:
    """All coordinators of one cluster. What cannot be answered now is asked again until ``retry.timeout`` is over.

    Every call raises :class:`~asyncsink.DestinationUnavailableError` when that time is over, and
    :class:`~asyncsink.FatalRequestError` where the brokers do not allow it.
    """

    def __init__(self, client: KafkaClient, retry: RetryPolicy) -> None:
        self._client, self._retry = client, retry
        self._nodes: dict[str, int] = {}
        self._largest_timeout_ms: int | None = None
        self._has_asked = False

    async def end(self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool) -> str:
        """Commit or abort a transaction; Kafka's name of what came of it, ``NONE`` for success."""
        request = EndTxnRequest(transactional_id, producer_id, producer_epoch, commit)
        answer = await self._ask(transactional_id, request)
        return codes.name_of(answer.error_code)

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        """Abort what is open under an id, and shut its producer out."""
        request = InitProducerIdRequest(transactional_id, timeout_ms)
        code = codes.name_of((await self._ask(transactional_id, request)).error_code)
        if code != "NONE":
            raise RequestError(code, f"the transactional id {transactional_id!r} could not be taken over.")

    async def check_permissions(self, transactional_id: str, topic: str | None) -> None:
        """Ask for what the brokers have to refuse, in the end, but only after they have looked at permissions.

        :param transactional_id: one that nobody uses
        :param topic: one that is to be written to; None: it is not known yet
        :raises FatalRequestError: one is missing
        """
        await self.end(transactional_id, _NOBODY, _NOBODY, commit=False)
        if topic is None:
            return
        request = AddPartitionsToTxnRequest(transactional_id, _NOBODY, _NOBODY, [(topic, [0])])
        if codes.name_of(_code_of_one(await self._ask(transactional_id, request, _code_of_one))) == _NOT_THE_TOPIC:
            raise FatalRequestError(f"{_NOT_THE_TOPIC}: the topic {topic!r}. {ERRORS.remedy(_NOT_THE_TOPIC)}")

    async def largest_timeout_ms(self) -> int | None:
        """The brokers' ``transaction.max.timeout.ms``; None if they do not tell this user. They are asked once.

        A broker takes another one only when it is started again; one that then refuses it fails the task, and the next
        one asks anew.
        """
        if not self._has_asked:
            self._largest_timeout_ms = await self._patiently("ask for transaction.max.timeout.ms", self._told_timeout)
            self._has_asked = True
        return self._largest_timeout_ms

    async def _told_timeout(self, client: Any) -> int | None:
        node = client.get_random_node()
        answer = await self._sent(client, node, DescribeConfigsRequest([(_BROKER, str(node), [_MAX_TIMEOUT])]))
        code, *_, entries = answer.resources[0]
        self._raise_again(codes.name_of(code))
        return next((int(entry[1]) for entry in entries if entry[0] == _MAX_TIMEOUT), None)

    async def describe(self, transactional_ids: Sequence[str]) -> dict[str, Described]:
        """How transactions stand, by their ids; those that the cluster does not know are left out."""
        found = await each_of(self._described, transactional_ids)
        return {each.transactional_id: each for each in found if each is not None}

    async def open_with(self, prefix: str, states: Sequence[str] = OPEN) -> list[str]:
        """Ids that begin with `prefix`, of transactions that are open, or in these states."""

        async def listed(client: Any) -> list[str]:
            nodes = [each.nodeId for each in client.cluster.brokers()]
            answers = await each_of(lambda node: self._sent(client, node, ListTransactionsRequest(states)), nodes)
            for answer in answers:
                self._raise_again(codes.name_of(answer.error_code))
            return [
                state[0] for answer in answers for state in answer.transaction_states if state[0].startswith(prefix)
            ]

        return sorted(await self._patiently("list the transactions", listed))

    async def _described(self, transactional_id: str) -> Described | None:
        answer = await self._ask(
            transactional_id,
            DescribeTransactionsRequest([transactional_id]),
            lambda answer: answer.transaction_states[0][0],
        )
        code, _, state, timeout_ms, started_ms, producer_id, epoch, topics, _ = answer.transaction_states[0]
        name = codes.name_of(code)
        if name == _NOT_FOUND:
            return None
        if name != "NONE":
            raise RequestError(name, f"the transactional id {transactional_id!r} could not be described.")
        partitions = tuple((topic, number) for topic, numbers, _ in topics for number in numbers)
        return Described(transactional_id, state, producer_id, epoch, timeout_ms, started_ms, partitions)

    async def _ask(
        self, transactional_id: str, request: Any, code_of: Callable[[Any], int] = lambda answer: answer.error_code
    ) -> Any:
        """The answer of the coordinator of an id, once it is one."""

        async def asked(client: Any) -> Any:
            node = self._nodes.get(transactional_id)
            if node is None:
                node = self._nodes[transactional_id] = await self._found(client, transactional_id)
            try:
                answer = await self._sent(client, node, request)
                self._raise_again(codes.name_of(code_of(answer)), transactional_id)
            except RequestError as error:
                if error.code in _ELSEWHERE:
                    self._nodes.pop(transactional_id, None)
                raise
            return answer

        return await self._patiently(f"reach the coordinator of the transactional id {transactional_id!r}", asked)

    async def _found(self, client: Any, transactional_id: str) -> int:
        try:
            node: int = await client.coordinator_lookup(CoordinationType.TRANSACTION, transactional_id)
        except KafkaError as error:
            code = codes.name_of_exception(error)
            self._raise_again(code, transactional_id)
            raise RequestError(code, str(error)) from error
        return node

    @staticmethod
    def _raise_again(code: str, transactional_id: str | None = None) -> None:
        """Raise what another try may mend, or what nobody here can."""
        if code in _AGAIN:
            raise RequestError(code, "")
        if code == _NOT_THE_ID:
            raise FatalRequestError(f"{code}: the transactional id {transactional_id!r}. {ERRORS.remedy(code)}")

    @staticmethod
    async def _sent(client: Any, node: int, request: Any) -> Any:
        try:
            return await client.send(node, request, group=ConnectionGroup.COORDINATION)
        except IncompatibleBrokerVersion as error:
            raise FatalRequestError(
                "the brokers cannot tell of transactions (KIP-664), which deliveryGuarantee=exactly-once needs; "
                "upgrade them to Kafka 3.0 or newer, or set deliveryGuarantee=at-least-once"
            ) from error
        except KafkaError as error:
            raise RequestError(codes.name_of_exception(error), str(error)) from error

    async def _patiently(self, what: str, call: Callable[[Any], Awaitable[T]]) -> T:
        deadline_s = anyio.current_time() + self._retry.timeout_s
        failures = 0
        while True:
            try:
                async with self._client.brokers() as client:
                    await _see_brokers(client)
                    return await call(client)
            except RequestError as error:
                failure = error
            if failure.code not in _AGAIN:
                raise failure
            wait_s = jitter_s(self._retry, failures)
            if anyio.current_time() + wait_s >= deadline_s:
                raise DestinationUnavailableError(
                    f"Kafka: could not {what} within retry.timeout = {self._retry.timeout_s:g} s: {failure}"
                ) from failure
            await anyio.sleep(wait_s)
            failures += 1


def _code_of_one(answer: Any) -> int:
    """Of the only partition in the answer to an AddPartitionsToTxn."""
    ((_, ((_, code),)),) = answer.errors
    return int(code)


async def _see_brokers(client: Any) -> None:
    """Make sure that the client knows brokers: one that has only just started names none, not even itself."""
    if not client.cluster.brokers():
        await client.force_metadata_update()
    if not client.cluster.brokers():
        raise RequestError("COORDINATOR_NOT_AVAILABLE", "the cluster names no broker yet.")


async def each_of(call: Callable[[Any], Awaitable[T]], values: Sequence[Any]) -> list[T]:
    """The results for all values, in their order, some at the same time; the first error ends all."""
    limit, results, failures = anyio.CapacityLimiter(_AT_ONCE), dict[int, T](), list[Exception]()

    async def one(at: int, value: Any) -> None:
        async with limit:
            try:
                results[at] = await call(value)
            except Exception as error:
                failures.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for at, value in enumerate(values):
            group.start_soon(one, at, value)
    if failures:
        raise failures[0]
    return [results[at] for at in range(len(values))]
