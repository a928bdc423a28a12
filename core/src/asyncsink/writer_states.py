"""Writers' states as bytes, between one writer and its successor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asyncsink.errors import LedgerError
from asyncsink.ledger.state import KeptState
from asyncsink.sink import Sink
from asyncsink.state import BufferedRequestState


def kept_states(sink: Sink[Any, Any, Any, Any], states: Sequence[Any]) -> tuple[KeptState, ...]:
    """What a flushed writer leaves to its successor; an AsyncSinkWriter leaves nothing, as it has sent everything."""
    serializer = sink.writer_state_serializer
    if serializer is None:
        return ()
    return tuple((serializer.version, serializer.serialize(state)) for state in states if not _is_empty(state))


def restored_states(sink: Sink[Any, Any, Any, Any], kept: Sequence[KeptState], what: str) -> list[Any]:
    """The states that a writer starts from.

    :param what: for messages, such as "the writer of partition 3"
    :raises LedgerError: the sink has no serializer for writers' states any more, or one that does not read these
    """
    serializer, states = sink.writer_state_serializer, []
    for version, data in kept:
        if serializer is None:
            raise _unreadable(sink, what, version, "it has no writer_state_serializer")
        try:
            states.append(serializer.deserialize(version, data))
        except ValueError as error:
            # Its text may hold a part of the state.
            kind = type(serializer).__name__
            raise _unreadable(sink, what, version, f"its {kind} writes version {serializer.version}") from error
    return states


def _unreadable(sink: Sink[Any, Any, Any, Any], what: str, version: int, why: str) -> LedgerError:
    return LedgerError(
        f"the ledger has a state of version {version} for {what}, which {type(sink).__name__} cannot read: {why}; use "
        "the release of the connector that wrote the state, or remove the ledger, and what writers had left to this "
        "batch is lost"
    )


def _is_empty(state: Any) -> bool:
    return isinstance(state, BufferedRequestState) and not state.entries
