"""Clients for transactions: that of a task, and that of whoever ends what tasks have prepared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext
from asyncsink.errors import ConfigurationError
from asyncsink_kafka.client import KafkaClient, connect
from asyncsink_kafka.client.differences import differences
from asyncsink_kafka.private_names import KNOWN_VERSIONS
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_kafka.transactions.session import TransactionSession

if TYPE_CHECKING:
    from asyncsink_kafka.options import KafkaOptions


@asynccontextmanager
async def coordinators_of(
    options: KafkaOptions, config: AsyncSinkWriterConfig
) -> AsyncIterator[TransactionCoordinators]:
    """The coordinators, by a connection of their own that sends no record. Raises what connecting raises."""
    plain = replace(
        options,
        delivery_guarantee="at-least-once",
        enable_idempotence=False,
        transactional_id_prefix=None,
        transaction_timeout_s=None,
    )
    async with connect(plain, config) as client:
        yield TransactionCoordinators(client, config.retry)


@asynccontextmanager
async def connect_transactionally(
    options: KafkaOptions, config: AsyncSinkWriterConfig, context: InitContext, client_key: str
) -> AsyncIterator[KafkaClient]:
    """A client whose records nobody who reads what is committed sees, until its transactions are committed.

    :raises ConfigurationError: the installed aiokafka does not tell what a commit by somebody else needs
    """
    assert context.transaction is not None
    if found := differences():
        raise ConfigurationError(
            f"option 'deliveryGuarantee' = 'exactly-once' needs aiokafka{KNOWN_VERSIONS}, and the installed one "
            f"differs ({'; '.join(found)}); install that, or set deliveryGuarantee=at-least-once"
        )

    def others() -> AbstractAsyncContextManager[TransactionCoordinators]:
        return coordinators_of(options, config)

    clients = context.clients
    leased = others() if clients is None else clients.lease(f"{client_key}/coordinators", others)
    async with leased as coordinators:
        session = TransactionSession(
            coordinators,
            options.transaction_prefix,
            context.transaction,
            context.writer_id,
            context.attempt,
            options.transaction_timeout_ms,
        )
        async with connect(options, config, session=session) as client:
            yield client
