"""For how long a transaction may be open: as long as was asked for, or as the brokers allow."""

from __future__ import annotations

from typing import Final

from asyncsink.errors import FatalRequestError, RequestError
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators

USUAL_MAXIMUM_MS: Final = 900_000
"""The brokers' ``transaction.max.timeout.ms`` where nobody has set it."""

LEAST_TIMEOUT_MS: Final = 1_000
"""Brokers that take no longer one are of no use."""

_TOO_LONG: Final = "INVALID_TRANSACTION_TIMEOUT"


async def accepted_timeout_ms(
    coordinators: TransactionCoordinators, transactional_id: str, asked_ms: int | None
) -> int:
    """The timeout that was asked for, or else the longest that the brokers take.

    Brokers that do not tell this user which one that is are tried, by taking the id over.

    :raises FatalRequestError: what was asked for is longer
    """
    largest_ms = await coordinators.largest_timeout_ms()
    if largest_ms is not None:
        if asked_ms is not None and asked_ms > largest_ms:
            raise _longer(asked_ms, f"{largest_ms / 1000:g} s")
        return asked_ms or largest_ms
    timeout_ms = asked_ms or USUAL_MAXIMUM_MS
    while not await _is_taken(coordinators, transactional_id, timeout_ms):
        if asked_ms is not None:
            raise _longer(asked_ms, "that is set there")
        timeout_ms //= 2
        if timeout_ms < LEAST_TIMEOUT_MS:
            raise FatalRequestError(
                f"the brokers take no transaction timeout, not even {timeout_ms / 500:g} s: look at their "
                "transaction.max.timeout.ms"
            )
    return timeout_ms


async def _is_taken(coordinators: TransactionCoordinators, transactional_id: str, timeout_ms: int) -> bool:
    try:
        await coordinators.fence(transactional_id, timeout_ms)
    except RequestError as error:
        if error.code != _TOO_LONG:
            raise
        return False
    return True


def _longer(asked_ms: int, allowed: str) -> FatalRequestError:
    return FatalRequestError(
        f"option 'transactionTimeout' = {asked_ms / 1000:g} s is longer than the brokers' "
        f"transaction.max.timeout.ms, {allowed}; give at most that, or leave it out"
    )
