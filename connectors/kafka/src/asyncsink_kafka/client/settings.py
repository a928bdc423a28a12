"""The arguments of aiokafka's producer, from the options of the sink and of its writer."""

from __future__ import annotations

import logging
from functools import cache, partial
from math import isinf
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from aiokafka import codec

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink_kafka.security import security_arguments

if TYPE_CHECKING:
    from asyncsink_kafka.options import KafkaOptions

logger = logging.getLogger(__name__)

_MAX_INT32: Final = 2**31 - 1
_CLIENT_ID: Final = "asyncsink"


async def producer_arguments(
    options: KafkaOptions, config: AsyncSinkWriterConfig, *, compresses: bool
) -> dict[str, Any]:
    """The keyword arguments of ``AIOKafkaProducer``; none of them makes it batch or wait by itself.

    :param compresses: whether aiokafka builds the batches again and has to compress them
    :raises ConfigurationError: certificates or credentials cannot be loaded
    """
    arguments: dict[str, Any] = {
        "bootstrap_servers": options.bootstrap_servers.split(","),
        "client_id": options.client_id or _CLIENT_ID,
        "acks": options.acks if options.acks == "all" else int(options.acks),
        "enable_idempotence": options.idempotent,
        "request_timeout_ms": _milliseconds(config.request_timeout_s),
        "retry_backoff_ms": _milliseconds(config.retry.initial_backoff_s),
        "metadata_max_age_ms": _milliseconds(options.metadata_max_age_s),
        "connections_max_idle_ms": _idle_ms(options.connections_max_idle_s),
        "linger_ms": 0,
    }
    if compresses:
        # Its batches then end where ours do, and not earlier: it takes none that is exactly full.
        arguments["max_batch_size"] = max(config.max_batch_size_in_bytes, options.batch_size_in_bytes) + 1
        arguments["compression_type"] = _compression(options)
    if options.security_protocol == "PLAINTEXT":
        return arguments | security_arguments(options)
    # Certificates are read from files.
    return arguments | await anyio.to_thread.run_sync(partial(security_arguments, options))


def _compression(options: KafkaOptions) -> str | None:
    """The codec as aiokafka has it, whose constructor raises a bare RuntimeError where a library is missing."""
    name = options.compression
    if name == "none":
        return None
    if not getattr(codec, f"has_{name}")():
        _warn(f"batches are sent uncompressed: the installed aiokafka has no library for {name}; install cramjam")
        return None
    if options.compression_level is not None:
        _warn(
            f"compressionLevel = {options.compression_level} has no effect: aiokafka compresses with a level of its own"
        )
    return name


@cache
def _warn(told: str) -> None:
    """Once in a process: clients are made often."""
    logger.warning("%s", told)


def _milliseconds(seconds: float) -> int:
    # At least one: aiokafka would turn without a pause. Kafka's own fields have 32 bits.
    return max(1, _MAX_INT32 if isinf(seconds) else min(_MAX_INT32, round(seconds * 1000)))


def _idle_ms(seconds: float) -> int | None:
    return None if isinf(seconds) else _milliseconds(seconds)
