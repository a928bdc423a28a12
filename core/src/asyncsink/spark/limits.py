"""What the tasks of one batch know of the last one's: what was learned of the destination, and how many share it."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from hashlib import sha256
from typing import Any

from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import ClientCache
from asyncsink.sink import Sink
from asyncsink.spark.recovery import Recovered, say_once


def with_its_part(
    sink: Sink[Any, Any, Any, Any], recovered: Recovered | None, parallelism: int | None = None
) -> Sink[Any, Any, Any, Any]:
    """The sink with its task's part of a total rate, unless the user has said in how many parts it goes.

    There are as many parts as there were tasks at work at once in the last batch.

    :param parallelism: how many parts there are until that is known, if Spark has told
    """
    if not isinstance(sink, ConfiguredSink) or sink.config.rate_limit.kind != "fixed":
        return sink
    if sink.config.rate_limit.writers is not None:
        return sink
    writers = (None if recovered is None else recovered.state.writers) or parallelism
    if writers is None:
        say_once(
            "a rate is set, but not by how many tasks it is shared: each keeps it by itself until a batch has told how "
            "many are at work at once; set rateLimit.writers"
        )
        return sink
    parted = copy(sink)
    parted.config = replace(sink.config, rate_limit=replace(sink.config.rate_limit, writers=writers))
    return parted


def teach(clients: ClientCache, sink: Sink[Any, Any, Any, Any], recovered: Recovered | None) -> None:
    """Let new limiters of this worker start with what others have learned of the same destination."""
    if recovered is not None and isinstance(sink, ConfiguredSink):
        start = _name(sink)
        known = recovered.state.learned.items()
        clients.limiters(sink.client_key).learn(
            {name.removeprefix(start): found for name, found in known if name.startswith(start)}
        )


def learned(clients: ClientCache, sink: Sink[Any, Any, Any, Any]) -> tuple[tuple[str, bytes], ...]:
    """What this worker's limiters have learned, by destination and scope, for the ledger."""
    if not isinstance(sink, ConfiguredSink):
        return ()
    start, found = _name(sink), clients.limiters(sink.client_key).snapshot()
    return tuple((f"{start}{scope}", snapshot) for scope, snapshot in found.items())


def _name(sink: ConfiguredSink[Any, Any, Any, Any]) -> str:
    return f"{sha256(sink.fingerprint.encode()).hexdigest()[:12]}/"
