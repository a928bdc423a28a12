"""A cluster that names no broker yet: whoever asks it waits, and takes it for no answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from asyncsink.config import RetryPolicy
from asyncsink.errors import DestinationUnavailableError
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators

pytestmark = pytest.mark.anyio


class Starting:
    """aiokafka's client of a cluster that names its broker when it is asked so often; it has one open transaction."""

    def __init__(self, asked: int) -> None:
        self.left = asked
        self.cluster = SimpleNamespace(brokers=lambda: [] if self.left else [SimpleNamespace(nodeId=1)])

    async def force_metadata_update(self) -> None:
        self.left -= 1

    async def send(self, node: int, request: Any, group: Any) -> Any:
        return SimpleNamespace(error_code=0, transaction_states=[("orders-1", 7, "Ongoing", {})])

    @asynccontextmanager
    async def brokers(self) -> AsyncIterator[Any]:
        yield self


def coordinators(asked: int, timeout_s: float = 20.0) -> TransactionCoordinators:
    retry = RetryPolicy(timeout_s=timeout_s, initial_backoff_s=0.001, max_backoff_s=0.001)
    return TransactionCoordinators(Starting(asked), retry)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [0, 1, 3])
async def test_what_is_open_is_listed_once_there_are_brokers(asked: int) -> None:
    assert await coordinators(asked).open_with("orders-") == ["orders-1"]


async def test_a_cluster_that_never_names_one_is_not_there() -> None:
    with pytest.raises(DestinationUnavailableError, match="the cluster names no broker yet"):
        await coordinators(1_000_000, timeout_s=0.05).open_with("orders-")
