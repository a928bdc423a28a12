"""What of a transaction can be seen in the destination, as the checks of committers ask it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from asyncsink.transactions.committing import Lost
from asyncsink_testing.conformance.check import ConformanceError, NotApplicableError
from asyncsink_testing.conformance.delivery import shown
from asyncsink_testing.conformance.trial import Row, Trial

T = TypeVar("T")


async def done(what: str, call: Awaitable[T]) -> T:
    """What a call of the connector returns.

    :param what: the call, as the subject of a sentence
    :raises ConformanceError: it raises
    """
    try:
        found = await call
    except (ConformanceError, NotApplicableError):
        raise
    except Exception as error:
        raise ConformanceError(f"{what} raised {type(error).__name__}: {error}") from error
    return found


async def committed(trial: Trial, what: str, call: Awaitable[Lost | None], look: str) -> None:
    """See that a commit is done, and that the destination has had all of it.

    :param look: where to look if it had not
    """
    lost = await done(what, call)
    if lost is not None:
        trial.fail(
            f"{what} found {lost.count} of {lost.of} committables lost ({lost.reason}), and nothing had removed them: "
            f"look {look}"
        )


async def none_visible(trial: Trial, rows: Sequence[Row], when: str, look: str) -> None:
    """See that no row stands in the destination.

    :param when: the end of a sentence
    :param look: where to look if one does
    """
    seen = set((await trial.seen(rows)).ids) & {row["id"] for row in rows}
    if seen:
        trial.fail(f"{len(seen)} of {len(rows)} rows are visible {when}: {shown(sorted(seen))}. Look {look}")


async def visible_once(trial: Trial, rows: Sequence[Row], when: str, look: str) -> None:
    """See that each row stands in the destination once, as it was written.

    :param when: the end of a sentence
    :param look: where to look if one does not
    """
    delivery = await trial.seen(rows)
    counts = Counter(delivery.ids)
    lost = [row["id"] for row in rows if not counts[row["id"]]]
    if lost:
        trial.fail(f"{len(lost)} of {len(rows)} rows are not visible {when}: {shown(lost)}. Look {look}")
    doubled = [number for number, count in counts.items() if count > 1]
    if doubled:
        trial.fail(f"{len(doubled)} rows stand in the destination twice or more {when}: {shown(doubled)}. Look {look}")
    delivery.nothing_lost()
