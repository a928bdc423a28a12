"""What of a transaction can be seen in the destination, as the checks of committers ask it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Final, TypeVar

import anyio

from asyncsink.transactions.committing import Lost
from asyncsink_testing.conformance.check import ConformanceError, NotApplicableError
from asyncsink_testing.conformance.delivery import Delivery, shown
from asyncsink_testing.conformance.trial import Row, Trial

T = TypeVar("T")

_SHOWN_S: Final = 5.0
_POLL_S: Final = 0.05


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


async def _shown(trial: Trial, rows: Sequence[Row]) -> Delivery:
    """What stands there once all rows do, or in the end: a service that has taken a commit may still be showing it."""
    wanted, delivery = {row["id"] for row in rows}, await trial.seen(rows)
    with anyio.move_on_after(_SHOWN_S):
        while not wanted.issubset(delivery.ids):
            await anyio.sleep(_POLL_S)
            delivery = await trial.seen(rows)
    return delivery


async def visible_once(trial: Trial, rows: Sequence[Row], when: str, look: str) -> None:
    """See that each row stands in the destination once, as it was written.

    :param when: the end of a sentence
    :param look: where to look if one does not
    """
    delivery = await _shown(trial, rows)
    counts = Counter(delivery.ids)
    lost = [row["id"] for row in rows if not counts[row["id"]]]
    if lost:
        trial.fail(f"{len(lost)} of {len(rows)} rows are not visible {when}: {shown(lost)}. Look {look}")
    doubled = [number for number, count in counts.items() if count > 1]
    if doubled:
        trial.fail(f"{len(doubled)} rows stand in the destination twice or more {when}: {shown(doubled)}. Look {look}")
    delivery.nothing_lost()
