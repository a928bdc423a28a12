"""How a check is run: in an event loop of its own, with a destination of its own, within its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import anyio

from asyncsink_testing.conformance.check import Check, ConformanceError, NotApplicableError
from asyncsink_testing.conformance.trial import Subject, Trial


def run_check(check: Check, subject: Subject) -> None:
    """Run one check against one connector.

    A destination in process runs in virtual time under trio, any other in real time under asyncio.

    :raises ConformanceError: the connector breaks the rule, or the check hangs
    :raises NotApplicableError: the check asks for what is not there
    """
    with _one_failure():
        anyio.run(_run, check, subject, **loop_of(subject))


def shortened(error: ConformanceError, check: Check) -> ConformanceError:
    """The same error, with a traceback of the check alone: the event loop and the kit have fifty lines of their own."""
    trace = error.__traceback__
    return error.with_traceback(_within(trace, check.run.__module__) or _within(trace, __name__))


def _within(trace: TracebackType | None, module: str) -> TracebackType | None:
    """The entries of a traceback that are of one module."""
    if trace is None:
        return None
    rest = _within(trace.tb_next, module)
    if trace.tb_frame.f_globals.get("__name__") != module:
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def loop_of(subject: Subject) -> dict[str, Any]:
    """The arguments of ``anyio.run`` for this subject's kind of event loop."""
    if not subject.in_process:
        return {"backend": "asyncio"}
    import trio.testing

    clock = trio.testing.MockClock(autojump_threshold=0)
    return {"backend": "trio", "backend_options": {"clock": clock}}


async def _run(check: Check, subject: Subject) -> None:
    # The destination as well: its server may wait for a connection that the connector never closes.
    with anyio.move_on_after(check.limit_s) as limit:
        async with subject.open_destination() as destination:
            reason = check.not_applicable(subject.capabilities, destination)
            if reason is not None:
                raise NotApplicableError(reason)
            await check.run(Trial(subject, destination))
    if limit.cancelled_caught:
        raise ConformanceError(
            f"check {check.id!r} had not ended after {check.limit_s:g} s: something waits for what never comes. Look "
            "for an await in the connector that no answer ends, and for a cancellation that it swallows"
        )


@contextmanager
def _one_failure() -> Iterator[None]:
    """What a check raises within task groups leaves as the one thing it is."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = _first(group, (ConformanceError, NotApplicableError))
        if found is None:
            raise
        raise found from found.__cause__


def _first(group: BaseExceptionGroup[BaseException], kinds: tuple[type[BaseException], ...]) -> BaseException | None:
    matching = group.subgroup(kinds)
    while isinstance(matching, BaseExceptionGroup):
        matching = matching.exceptions[0]  # type: ignore[assignment]
    return matching
