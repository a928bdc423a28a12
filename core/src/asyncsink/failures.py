"""What can go wrong with an entry or a request, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class FailureKind(Enum):
    """What follows from a failure.

    ==========  =========================================  =================================================
    kind        of one entry (:class:`Failure`)            of a request (``RequestError``, exception, deadline)
    ==========  =========================================  =================================================
    THROTTLED   head of the buffer, no attempt counted     the same for every entry: nothing was stored
    RETRYABLE   waits its own backoff, one attempt more    outcome unknown: sent again sealed, never re-cut
    REJECTED    ``on_rejected`` decides                    nothing was stored; ``on_rejected`` decides
    FATAL       the writer fails, the entry stays          the writer fails, the entries stay
    ==========  =========================================  =================================================
    """

    THROTTLED = "throttled"
    RETRYABLE = "retryable"
    REJECTED = "rejected"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of one entry of a request that was otherwise answered.

    :param code: the service's own code for the entry, looked up in the sink's :class:`ErrorTable` if `kind` is None
    :param message: what the service said of it, without payload
    :param kind: what follows; None to look the code up
    :param retry_after_s: seconds after which the service wants to see this entry again, if it said so
    :param replacement: a new entry made from the response (FLIP-171): it has the same key and route, is measured
        again and keeps the place and the attempts of the entry it replaces
    """

    code: str
    message: str = ""
    kind: FailureKind | None = None
    retry_after_s: float | None = None
    replacement: Any = None


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """A service's error codes and a client's exception types, each with the kind of failure it stands for.

    `fatal` maps a code to its remedy: one sentence that tells the user what to do. A code that stands nowhere is
    FATAL for a request and RETRYABLE for an entry, with one warning. ``OSError`` and ``TimeoutError`` are RETRYABLE
    without being named; any other exception type that is not named is FATAL at once: a bug is not an outage.
    """

    throttled: frozenset[str] = frozenset()
    retryable: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    fatal: Mapping[str, str] = field(default_factory=dict)
    exceptions: Mapping[type[BaseException], FailureKind] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *,
        throttled: Iterable[str] = (),
        retryable: Iterable[str] = (),
        rejected: Iterable[str] = (),
        fatal: Mapping[str, str] | None = None,
        exceptions: Mapping[type[BaseException], FailureKind] | None = None,
    ) -> ErrorTable:
        """Build a table from any iterables; a code that is named twice raises ValueError."""
        table = cls(
            frozenset(throttled), frozenset(retryable), frozenset(rejected), dict(fatal or {}), dict(exceptions or {})
        )
        named = [*table.throttled, *table.retryable, *table.rejected, *table.fatal]
        twice = sorted(code for code in set(named) if named.count(code) > 1)
        if twice:
            raise ValueError(f"codes {twice} are of more than one kind in an ErrorTable; name each once")
        return table

    def kind_of(self, code: str) -> FailureKind | None:
        """The kind that `code` stands for, or None if the table does not name it."""
        if code in self.throttled:
            return FailureKind.THROTTLED
        if code in self.retryable:
            return FailureKind.RETRYABLE
        if code in self.rejected:
            return FailureKind.REJECTED
        if code in self.fatal:
            return FailureKind.FATAL
        return None

    def kind_of_exception(self, error: BaseException) -> FailureKind:
        """The kind that an exception of a client stands for; the nearest named base class counts."""
        for base in type(error).__mro__:
            if base in self.exceptions:
                return self.exceptions[base]
        return FailureKind.RETRYABLE if isinstance(error, OSError | TimeoutError) else FailureKind.FATAL

    def remedy(self, code: str) -> str:
        """What the user should do about a fatal code; empty if the table does not say."""
        return self.fatal.get(code, "")
