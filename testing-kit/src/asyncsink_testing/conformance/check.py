"""A check: what it asks, of whom, and since when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asyncsink_testing.conformance.capabilities import Capabilities
from asyncsink_testing.faults import Fault

if TYPE_CHECKING:
    from asyncsink_testing.conformance.destination import Destination
    from asyncsink_testing.conformance.trial import Trial

Level = Literal["required", "upcoming", "optional"]
"""``upcoming`` ones are reported and fail nobody: they become required in the kit's next minor version."""

Run = Callable[["Trial"], Awaitable[None]]


class ConformanceError(AssertionError):
    """The connector breaks a rule. The message says what was lost, doubled or wrong, and where to look."""


class NotApplicableError(Exception):
    """The check asks for what this connector or this destination does not have; it counts neither way."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the kit.

    :param id: how the documents, reports and waivers name it
    :param group: what the specification lists it under
    :param since: the version of the kit that it came with
    :param needs: faults that the destination must be able to make, all of them
    :param one_of: faults of which the destination must be able to make one at least
    :param asks: the fields of :class:`Capabilities` that must be true or given
    :param not_with: those that must be false, each with what makes no sense if it is true
    :param sees_requests: whether the destination must show single requests
    :param limit_s: seconds, of the check's own clock, after which it counts as one that hangs
    """

    id: str
    group: str
    run: Run
    level: Level
    since: str
    needs: frozenset[Fault]
    one_of: frozenset[Fault]
    asks: tuple[str, ...]
    not_with: Mapping[str, str]
    sees_requests: bool
    limit_s: float

    def __str__(self) -> str:
        return self.id

    @property
    def title(self) -> str:
        """What it asks, in a sentence."""
        return (self.run.__doc__ or "").strip().partition("\n")[0]

    def not_applicable(self, capabilities: Capabilities, destination: Destination) -> str | None:
        """Why it does not apply, if it does not."""
        for name in self.asks:
            value = getattr(capabilities, name)
            if value in (False, None, "none"):
                return f"the capabilities say {name} = {value!r}"
        for name, reason in self.not_with.items():
            if getattr(capabilities, name):
                return f"the capabilities say {name} = True: {reason}"
        claimed = f", though the capabilities claim {', '.join(self.asks)}" if self.asks else ""
        missing = self.needs - destination.supported
        if missing:
            return f"the destination cannot make the fault {_told(missing)}{claimed}"
        if self.one_of and not self.one_of & destination.supported:
            return f"the destination can make none of {_told(self.one_of)}{claimed}"
        if self.sees_requests and destination.requests is None:
            return "the destination does not show single requests"
        return None


def _told(faults: Iterable[Fault]) -> str:
    return ", ".join(sorted(each.value for each in faults))


_checks: dict[str, Check] = {}


def check(
    id: str,
    *,
    since: str,
    level: Level = "required",
    needs: Iterable[Fault] = (),
    one_of: Iterable[Fault] = (),
    asks: Iterable[str] = (),
    not_with: Mapping[str, str] | None = None,
    sees_requests: bool = False,
    limit_s: float = 30.0,
    group: str | None = None,
) -> Callable[[Run], Run]:
    """Make a check of a plain async function; its docstring's first line says what it asks.

    :param group: the group it belongs to; by default its module's name
    """

    def register(run: Run) -> Run:
        if id in _checks:
            raise ValueError(f"two checks have the id {id!r}; give one of them another")
        of = group or run.__module__.rpartition(".")[2]
        _checks[id] = Check(
            id=id,
            group=of,
            run=run,
            level=level,
            since=since,
            needs=frozenset(needs),
            one_of=frozenset(one_of),
            asks=tuple(asks),
            not_with=dict(not_with or {}),
            sees_requests=sees_requests,
            limit_s=limit_s,
        )
        return run

    return register


def all_checks() -> tuple[Check, ...]:
    """Every check of the kit, group by group."""
    from asyncsink_testing import checks

    checks.load()
    return tuple(_checks.values())
