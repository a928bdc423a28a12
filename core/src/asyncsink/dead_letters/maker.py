"""Letters out of what a writer knows when it gives an entry or an element up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from asyncsink.context import InitContext
from asyncsink.dead_letters.element import element_as_json
from asyncsink.dead_letters.letter import DeadLetter, DeadLetterReason
from asyncsink.serializer import SimpleVersionedSerializer

if TYPE_CHECKING:
    from asyncsink.sink import Sink

_log = logging.getLogger(__name__)


def now_ms() -> int:
    """The wall clock, in ms since the epoch, UTC."""
    return time.time_ns() // 1_000_000


class DeadLetterMaker:
    """Makes the letters of one writer, of any kind of sink.

    :param sink: its ``entry_serializer``, if it has one, turns entries to bytes; without one they are kept as JSON,
        like elements, and cannot be sent again by :func:`~asyncsink.dead_letters.as_state`
    :param prefix: the part of the idempotency ids that the writer's entries share, as
        :func:`asyncsink.context.idempotency_prefix` makes it
    :param now_ms: the wall clock; a simulation gives its own
    """

    def __init__(
        self, sink: Sink[Any, Any, Any, Any], context: InitContext, prefix: str, now_ms: Callable[[], int] = now_ms
    ) -> None:
        self._serializer: SimpleVersionedSerializer[Any] | None = getattr(sink, "entry_serializer", None)
        self._connector = connector_of(sink)
        self._context, self._prefix, self._now_ms = context, prefix, now_ms
        self._has_warned = False

    def of_entry(
        self,
        entry: object,
        reason: DeadLetterReason,
        code: str,
        message: str,
        *,
        sequence: int | None = None,
        attempts: int = 0,
        first_failed_at: int | None = None,
        route: Hashable | None = None,
    ) -> DeadLetter:
        """A letter with an entry. Never raises for what the entry holds.

        :param sequence: its position among the writer's; None if it has no idempotency id
        :param attempts: answers that it failed in by itself, with the one that refused it
        :param first_failed_at: ms since the epoch; now, if it is None
        """
        data = self._serialized(entry)
        return self._letter(
            reason=reason,
            code=code,
            message=message,
            entry=data,
            entry_version=None if data is None or self._serializer is None else self._serializer.version,
            element=element_as_json(entry) if data is None else None,
            sequence=sequence,
            attempts=attempts,
            first_failed_at=first_failed_at,
            route=route if route is None or isinstance(route, str) else repr(route),
        )

    def of_element(
        self,
        element: object,
        code: str,
        message: str,
        *,
        reason: DeadLetterReason = DeadLetterReason.CONVERSION,
        sequence: int | None = None,
    ) -> DeadLetter:
        """A letter with an element that has not become an entry. Never raises for what the element holds."""
        return self._letter(
            reason=reason, code=code, message=message, element=element_as_json(element), sequence=sequence
        )

    def _letter(self, *, sequence: int | None, first_failed_at: int | None = None, **values: Any) -> DeadLetter:
        now, context = self._now_ms(), self._context
        return DeadLetter(
            idempotency_id=None if sequence is None else f"{self._prefix}{sequence}",
            first_failed_at=now if first_failed_at is None else first_failed_at,
            last_failed_at=now,
            connector=self._connector,
            query_id=context.query_id,
            batch_id=context.batch_id,
            writer_id=context.writer_id,
            attempt=context.attempt,
            **values,
        )

    def _serialized(self, entry: object) -> bytes | None:
        if self._serializer is None:
            return None
        try:
            return self._serializer.serialize(entry)
        except Exception as error:  # an entry that is bad enough to be refused may be too bad for its serializer
            if not self._has_warned:
                self._has_warned = True
                _log.warning(
                    "%s of %s raised %s for a dead letter: such entries are kept as JSON and cannot be sent again as "
                    "they are; mend its serialize method",
                    type(self._serializer).__name__,
                    self._connector,
                    type(error).__name__,
                )
            return None


def connector_of(sink: object) -> str:
    """The class path of a sink, as letters name it."""
    return f"{type(sink).__module__}.{type(sink).__qualname__}"
