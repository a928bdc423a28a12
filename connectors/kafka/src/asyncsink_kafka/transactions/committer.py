"""The second phase: transactions that tasks have prepared are committed, and those of dead attempts aborted."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from asyncsink.committer import Committer
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import CommitError, ConfigurationError, DestinationUnavailableError, LostCommittablesError
from asyncsink.transactions import Transaction
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_kafka.transactions.coordinators import OPEN, UNDECIDED, TransactionCoordinators, each_of
from asyncsink_kafka.transactions.naming import DEFAULT_PREFIX, TransactionalId, is_over, sink_name
from asyncsink_kafka.transactions.outcome import Outcome, committed
from asyncsink_kafka.transactions.session import is_open
from asyncsink_kafka.transactions.timeouts import LEAST_TIMEOUT_MS, USUAL_MAXIMUM_MS, accepted_timeout_ms

if TYPE_CHECKING:
    from asyncsink_kafka.options import KafkaOptions

logger = logging.getLogger(__name__)

LEAST_LEFT: Final = 0.1
"""Share of the timeout that has to be left when a batch is decided: for the commit, and if the driver dies in it."""

LATEST_ABORT_MS: Final = 30_000
"""Three times the interval in which brokers look for transactions whose timeout is over."""

_START_AGAIN: Final = "Start the query or job again, which writes the batch again"

_PROBE: Final = "permissions"
"""With the prefix before it an id that nobody uses."""

_FIT: Final[set[KafkaOptions]] = set()
"""What this process knows to be in order: Spark's planner lives through many micro-batches."""


class KafkaCommitter(Committer[KafkaTransaction]):
    """Ends transactions by requests of its own: whoever has begun them may be dead.

    :param shares_prefix: whether other queries may have the same prefix; None: only the one of those that give none
    """

    def __init__(
        self, options: KafkaOptions, config: AsyncSinkWriterConfig, *, shares_prefix: bool | None = None
    ) -> None:
        self._options, self._config = options, config
        self._shares_prefix = options.transaction_prefix == DEFAULT_PREFIX if shares_prefix is None else shares_prefix
        self._stack = AsyncExitStack()
        self._found: TransactionCoordinators | None = None

    async def check_destination(self) -> None:
        """See that the brokers tell of transactions, and let this user make them; once in a process.

        :raises FatalRequestError: they do not
        :raises DestinationUnavailableError: they do not answer within ``retry.timeout``
        """
        if self._options in _FIT:
            return
        coordinators = await self._coordinators()
        await coordinators.open_with(f"{self._options.transaction_prefix}-")
        probe = f"{self._options.transaction_prefix}-{_PROBE}"
        await coordinators.describe([probe])
        await coordinators.check_permissions(probe, self._options.topic)
        await self._check_timeout(coordinators, probe)
        _FIT.add(self._options)

    async def _check_timeout(self, coordinators: TransactionCoordinators, probe: str) -> None:
        asked_ms = self._options.transaction_timeout_ms
        timeout_ms = await accepted_timeout_ms(coordinators, probe, asked_ms)
        if asked_ms is None and timeout_ms < USUAL_MAXIMUM_MS:
            logger.warning(
                "transactions time out after %g s, which is the brokers' transaction.max.timeout.ms, and not after the "
                "usual %g s: a query that is down for longer writes its last batch again",
                timeout_ms / 1000,
                USUAL_MAXIMUM_MS / 1000,
            )

    async def check(self, committables: Sequence[KafkaTransaction]) -> None:
        """See that all are open, and will be for a while.

        :raises CommitError: one is not
        """
        if not committables:
            return
        coordinators = await self._coordinators()
        found = await coordinators.describe([each.transactional_id for each in committables])
        now_ms = time.time() * 1000
        for each in committables:
            state = found.get(each.transactional_id)
            if not is_open(state, each.producer_id, each.producer_epoch):
                raise CommitError(
                    f"the transaction {each.transactional_id!r} was ended before the batch was decided; nothing of the "
                    f"batch is committed. {_START_AGAIN}. If this comes again and again, make batches smaller or "
                    "transactionTimeout longer, and see that no other query has the same checkpoint"
                )
            left_ms = each.started_ms + each.timeout_ms - now_ms
            # One that is open long after its end shows that the clocks of brokers and driver differ.
            if -LATEST_ABORT_MS < left_ms < LEAST_LEFT * each.timeout_ms:
                raise CommitError(
                    f"of the {each.timeout_ms / 1000:g} s (transactionTimeout) of the transaction "
                    f"{each.transactional_id!r} {max(left_ms, 0) / 1000:.1f} s are left, which is too little to commit "
                    "it safely; nothing of the batch is committed. Make batches smaller, or transactionTimeout and the "
                    f"brokers' transaction.max.timeout.ms longer. {_START_AGAIN}"
                )

    async def commit(self, committables: Sequence[KafkaTransaction]) -> list[KafkaTransaction]:
        """Commit all; returns those whose coordinator does not answer.

        :raises LostCommittablesError: the brokers have aborted some, or cannot tell any more what became of them
        """
        if not committables:
            return []
        try:
            coordinators = await self._coordinators()
        except DestinationUnavailableError as error:
            logger.warning("no transaction can be committed yet: %s", error)
            return list(committables)
        again: list[KafkaTransaction] = []
        lost: list[tuple[KafkaTransaction, Outcome, str]] = []

        async def one(each: KafkaTransaction) -> None:
            try:
                outcome, said = await committed(coordinators, each)
            except DestinationUnavailableError:
                again.append(each)
            else:
                if outcome is not Outcome.COMMITTED:
                    lost.append((each, outcome, said))

        await each_of(one, committables)
        if lost:
            unknown = [each for each, outcome, _ in lost if outcome is Outcome.UNKNOWN]
            transaction, outcome, said = lost[0]
            raise LostCommittablesError(
                f"{transaction.transactional_id!r} is {outcome.value}: {said}",
                [each for each, _, _ in lost],
                again,
                may_be_committed=bool(unknown),
            )
        return again

    async def abort(self, committables: Sequence[KafkaTransaction]) -> None:
        if not committables:
            return
        coordinators, failures = await self._coordinators(), list[Exception]()

        async def one(each: KafkaTransaction) -> None:
            # Those of one coordinator that does not answer leave the others none the less.
            try:
                await coordinators.end(each.transactional_id, each.producer_id, each.producer_epoch, commit=False)
            except Exception as error:
                failures.append(error)

        await each_of(one, committables)
        if failures:
            raise failures[0]

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        prefix = self._options.transaction_prefix
        coordinators = await self._coordinators()
        # What was just committed may still be open for a moment, and ends by itself.
        found = await coordinators.open_with(f"{prefix}-", UNDECIDED)
        # Nothing is ever written under that timeout, so that it only has to be one that every broker takes.
        await each_of(
            lambda each: coordinators.fence(each, LEAST_TIMEOUT_MS),
            [each for each in found if is_over(each, prefix, transaction)],
        )
        if not self._shares_prefix:
            self._check_alone([each for each in found if _is_of_another(each, prefix, transaction)])

    async def open_transactions(self, transaction: Transaction) -> list[str]:
        coordinators = await self._coordinators()
        found = await coordinators.open_with(f"{sink_name(self._options.transaction_prefix, transaction)}-")
        return [str(each) for each in (await coordinators.describe(found)).values() if each.state in OPEN]

    async def aclose(self) -> None:
        self._found = None
        await self._stack.aclose()

    async def _coordinators(self) -> TransactionCoordinators:
        if self._found is None:
            self._found = await self._stack.enter_async_context(coordinators_of(self._options, self._config))
        return self._found

    def _check_alone(self, others: list[str]) -> None:
        if others:
            raise ConfigurationError(
                f"option 'transactionalIdPrefix' = {self._options.transaction_prefix!r} is in use by another query, "
                f"which has the transaction {others[0]!r} open; give each query a prefix of its own, or leave it out. "
                "If that query is dead and its checkpoint gone, its transactions end after their timeout"
            )


def _is_of_another(text: str, prefix: str, transaction: Transaction) -> bool:
    found = TransactionalId.parsed(text)
    if found is None or found.sink == sink_name(prefix, transaction):
        return False
    return found.sink.rpartition("-")[0] == prefix
