"""Committing until nothing is left to commit."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio

from asyncsink.errors import AsyncSinkError, CommitError, CommitTimedOutError, LostCommittablesError
from asyncsink.ledger.state import KeptState
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import Sink

logger = logging.getLogger(__name__)

T = TypeVar("T")

_INITIAL_BACKOFF_S: Final = 0.1
_MAX_BACKOFF_S: Final = 10.0

_COMMITTED_LATER: Final = "it stays prepared, and is committed when the job starts again, before anything is written"
REMOVE: Final = "remove what is visible of it before it is run again, or have its rows twice"
"""What a person can do about a job of which a part is committed, and whose log is gone when it ends."""

_LEFT: Final = (
    f"a part of it may be committed, and nobody will commit the rest, as the job has no stateLocation; {REMOVE}"
)

Commit = Callable[[Sequence[Any]], Awaitable[list[Any]]]


@dataclass(frozen=True)
class Lost:
    """What of some committables the destination does not have any more.

    :param count: committables that are lost
    :param of: committables that there were
    :param reason: what the committer said
    :param is_certain: whether none of what is lost was committed before
    """

    count: int
    of: int
    reason: str
    is_certain: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether none of them has been committed."""
        return self.count == self.of and self.is_certain


def as_kept(serializer: SimpleVersionedSerializer[Any], values: Sequence[Any]) -> tuple[KeptState, ...]:
    """Committables as the log keeps them."""
    return tuple((serializer.version, serializer.serialize(value)) for value in values)


def kept_committables(sink: Sink[Any, Any, Any, Any], committables: Sequence[Any]) -> tuple[KeptState, ...]:
    """What a sink's writer has prepared, as the log keeps it; nothing of a sink that commits nothing."""
    serializer = sink.committable_serializer
    return () if serializer is None else as_kept(serializer, committables)


def of_kept(serializer: SimpleVersionedSerializer[Any], kept: Sequence[KeptState], where: str) -> list[Any]:
    """Committables of a log.

    :param where: the log, for messages
    :raises CommitError: the serializer does not read them
    """
    try:
        return [serializer.deserialize(version, data) for version, data in kept]
    except ValueError as error:
        # Its text may hold a part of the committable.
        versions = sorted({version for version, _ in kept})
        raise CommitError(
            f"{where} holds committables of version {', '.join(map(str, versions))}, which "
            f"{type(serializer).__name__} of version {serializer.version} cannot read; use the release of the "
            "connector that wrote them, which commits them when it starts"
        ) from error


async def commit_until_done(
    commit: Commit,
    committables: Sequence[Any],
    serializer: SimpleVersionedSerializer[Any],
    timeout_s: float,
    what: str,
    *,
    is_kept: bool = True,
) -> Lost | None:
    """Commit, and again what the committer wants to commit again, with a backoff.

    :param what: the batch, for messages
    :param is_kept: whether somebody will find it in the log later
    :returns: what was lost, once all others are committed; None if nothing was
    :raises CommitTimedOutError: some are not committed when `timeout_s` are over
    :raises CommitError: the committer returned or lost what it was not given, or the destination is away or refuses
    """
    left, lost, reason, is_certain, backoff_s = list(committables), 0, "", True, _INITIAL_BACKOFF_S
    with anyio.move_on_after(timeout_s):
        while left:
            try:
                again = await commit(left)
            except LostCommittablesError as error:
                _check_lost(left, error, serializer)
                again, reason = list(error.again), str(error)
                lost, is_certain = lost + len(error.lost), is_certain and not error.may_be_committed
            except CommitError:
                raise
            except (OSError, AsyncSinkError) as error:
                raise CommitError(
                    f"{what} is decided, and its commit failed with {type(error).__name__}: {error}; "
                    f"{_COMMITTED_LATER if is_kept else _LEFT}"
                ) from error
            check_given(left, again, serializer)
            left = again
            if left:
                if backoff_s == _INITIAL_BACKOFF_S:
                    logger.warning(
                        "%d of %d committables of %s were put off by their committer; they are committed again and "
                        "again, for %g s at most (commitTimeout)",
                        len(left),
                        len(committables),
                        what,
                        timeout_s,
                    )
                await anyio.sleep(backoff_s)
                backoff_s = min(2 * backoff_s, _MAX_BACKOFF_S)
    if left:
        raise CommitTimedOutError(
            f"{len(left)} of {len(committables)} committables of {what} were not committed within {timeout_s:g} s "
            f"(commitTimeout); {_COMMITTED_LATER if is_kept else _LEFT}"
        )
    return Lost(lost, len(committables), reason, is_certain) if lost else None


async def in_time(
    operation: str, call: Callable[[], Awaitable[T]], timeout_s: float, what: str, *, is_kept: bool = True
) -> T:
    """What a global committer says when it is asked for something else than to commit.

    :param operation: its name, for messages; the others are those of :func:`commit_until_done`
    :raises CommitTimedOutError: it has not answered when `timeout_s` are over
    """
    with anyio.move_on_after(timeout_s):
        return await call()
    raise CommitTimedOutError(
        f"{operation} of the GlobalCommitter has not ended within {timeout_s:g} s (commitTimeout) for {what}; "
        f"{_COMMITTED_LATER if is_kept else _LEFT}"
    )


def _check_lost(given: Sequence[Any], error: LostCommittablesError, serializer: SimpleVersionedSerializer[Any]) -> None:
    """Refuse a loss of nothing, or of something else: what is not named would count as committed."""
    if not error.lost:
        raise CommitError(
            f"a committer raised LostCommittablesError ({error}) and named no committable that is lost; it must give "
            "those, as the others count as committed"
        ) from error
    check_given(given, [*error.again, *error.lost], serializer)


def check_given(given: Sequence[Any], returned: Sequence[Any], serializer: SimpleVersionedSerializer[Any]) -> None:
    """Refuse what a committer returns if it was not given it: committed again and again, it would never be done.

    :raises CommitError: it returned something else, or something twice
    """
    if not isinstance(returned, list | tuple):
        raise CommitError(
            f"a committer returned a {type(returned).__name__}; it must return a list of what to commit again"
        )
    known = [serializer.serialize(each) for each in given] if returned else []
    for each in returned:
        if (data := serializer.serialize(each)) not in known:
            raise CommitError(
                f"a committer returned a {type(each).__name__} that it was not given (or the same one twice); it must "
                "return those of its committables that are to be committed again"
            )
        known.remove(data)
