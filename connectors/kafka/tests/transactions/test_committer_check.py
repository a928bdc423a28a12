"""How much of its timeout a transaction must have left when its batch is decided."""

from __future__ import annotations

import time

import pytest

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import CommitError
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.committer import LATEST_ABORT_MS, KafkaCommitter
from asyncsink_kafka.transactions.coordinators import Described, TransactionCoordinators

pytestmark = pytest.mark.anyio

TIMEOUT_MS = 60_000


async def checked(monkeypatch: pytest.MonkeyPatch, age_ms: float, state: str = "Ongoing") -> None:
    """Check a transaction that was begun so long ago by the driver's clock."""
    begun_ms = round(time.time() * 1000 - age_ms)
    found = Described("orders-1", state, 17, 5, TIMEOUT_MS, begun_ms)

    class Coordinators(TransactionCoordinators):
        def __init__(self) -> None:
            """They know one transaction, and nobody is asked."""

        async def describe(self, transactional_ids: object) -> dict[str, Described]:
            return {"orders-1": found}

    async def coordinators(self: KafkaCommitter) -> TransactionCoordinators:
        return Coordinators()

    monkeypatch.setattr(KafkaCommitter, "_coordinators", coordinators)
    options = KafkaOptions(bootstrap_servers="broker:9092", topic="orders", delivery_guarantee="exactly-once")
    committer = KafkaCommitter(options, AsyncSinkWriterConfig())
    await committer.check([KafkaTransaction("orders-1", 17, 5, begun_ms, TIMEOUT_MS, 3)])


@pytest.mark.parametrize("age_ms", [-10_000, 0, 0.85 * TIMEOUT_MS, TIMEOUT_MS + LATEST_ABORT_MS + 5_000, 86_400_000])
async def test_one_with_time_left_or_of_another_clock_is_decided(
    monkeypatch: pytest.MonkeyPatch, age_ms: float
) -> None:
    await checked(monkeypatch, age_ms)


@pytest.mark.parametrize("age_ms", [0.95 * TIMEOUT_MS, TIMEOUT_MS + 1_000])
async def test_one_whose_timeout_is_nearly_over_is_not(monkeypatch: pytest.MonkeyPatch, age_ms: float) -> None:
    with pytest.raises(
        CommitError, match=r"of the 60 s \(transactionTimeout\) .* 'orders-1' \d\.\d s are left, .* Start the query or"
    ):
        await checked(monkeypatch, age_ms)


async def test_one_that_was_ended_is_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        CommitError, match=r"'orders-1' was ended before .* nothing of the batch is committed\. Start the query or job"
    ):
        await checked(monkeypatch, 0, state="CompleteAbort")
