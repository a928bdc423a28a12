"""A job that ends between its two phases, and is run again; of the group ``committing``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from asyncsink.committer import Committer, GlobalCommitter
from asyncsink.context import InitContext
from asyncsink.local_run import LocalRun, run_local
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import Sink, SinkWriter
from asyncsink_testing.checks.visible import done, none_visible, visible_once
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.committing_writer import COMMIT_TIMEOUT_S
from asyncsink_testing.conformance.trial import Row, Trial

_GROUP: Final = "committing"

_STEPS: Final = ("prepared", "about to commit", "committed", "about to publish", "published")
_LOOK: Final = (
    "at names that a later attempt uses again, at what create_writer does with its states, at a commit of what is "
    "committed already, and at filter_recovered_committables"
)


class _InterruptedError(Exception):
    """Ends a run, as a kill does."""


class _Interruption:
    """Ends a run at one of its steps, and once.

    :param passes: how often the run goes on before
    """

    def __init__(self, step: str, passes: int) -> None:
        self._step, self._left, self.is_over = step, passes, False

    def meet(self, step: str) -> None:
        """Go on, or raise."""
        if step != self._step or self.is_over:
            return
        self.is_over = self._left == 0
        self._left -= 1
        if self.is_over:
            raise _InterruptedError(step)


class _Delegating:
    """All that another object has, its context manager too."""

    def __init__(self, of: Any, meet: Callable[[str], None]) -> None:
        self._of, self._meet = of, meet

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    async def __aenter__(self) -> Any:
        await self._of.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._of.__aexit__(*error)


class _Writer(_Delegating):
    async def prepare_commit(self, flush: bool) -> list[Any]:
        prepared: list[Any] = await self._of.prepare_commit(flush)
        self._meet("prepared")
        return prepared


class _Committer(_Delegating):
    """A committer or a global one; `steps` are what it meets before and after a commit."""

    def __init__(self, of: Any, meet: Callable[[str], None], steps: tuple[str, str]) -> None:
        super().__init__(of, meet)
        self._steps = steps

    async def commit(self, committables: Sequence[Any]) -> Any:
        before, after = self._steps
        self._meet(before)
        left = await self._of.commit(committables)
        self._meet(after)
        return left


class _InterruptedSink(Sink[Any, Any, Any, Any]):
    """A sink whose run ends at one of its steps."""

    def __init__(self, sink: Sink[Any, Any, Any, Any], meet: Callable[[str], None]) -> None:
        self._sink, self._meet = sink, meet

    @property
    def committable_serializer(self) -> SimpleVersionedSerializer[Any] | None:
        return self._sink.committable_serializer

    @property
    def global_committable_serializer(self) -> SimpleVersionedSerializer[Any] | None:
        return self._sink.global_committable_serializer

    @property
    def writer_state_serializer(self) -> SimpleVersionedSerializer[Any] | None:
        return self._sink.writer_state_serializer

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> SinkWriter[Any, Any, Any]:
        return cast("SinkWriter[Any, Any, Any]", _Writer(self._sink.create_writer(context, states), self._meet))

    def create_committer(self) -> Committer[Any] | None:
        committer = self._sink.create_committer()
        steps = ("about to commit", "committed")
        return cast("Committer[Any] | None", committer and _Committer(committer, self._meet, steps))

    def create_global_committer(self) -> GlobalCommitter[Any, Any] | None:
        committer = self._sink.create_global_committer()
        steps = ("about to publish", "published")
        return cast("GlobalCommitter[Any, Any] | None", committer and _Committer(committer, self._meet, steps))


@check("run-interrupted", since="0.1", asks=["commits"], limit_s=120.0, group=_GROUP)
async def run_interrupted(trial: Trial) -> None:
    """A run that ends between prepare and commit, or right after it, delivers each row once when it is run again.

    ``run_local`` writes rows, with one commit at the end and with several, and is interrupted when a commit is
    prepared, before it is carried out, and after it, that of the global committer too; so it is at the first commit
    and at the second. It is run again by a new sink, and once more. Rows that are missing or doubled point to names
    that a later attempt uses again, to writers' states that are not heeded, and to commits that are not idempotent.
    """
    for every in (None, trial.batch):
        for step in _STEPS:
            for passes in (0,) if every is None else (0, 1):
                async with trial.fresh() as fresh:
                    await _interrupted(fresh, every, step, passes)


async def _interrupted(trial: Trial, every: int | None, step: str, passes: int) -> None:
    rows, interruption = trial.rows(3 * trial.batch + 1), _Interruption(step, passes)
    when = f"after a run that was interrupted when commit {passes + 1} was {step!r}"
    with TemporaryDirectory() as folder:
        try:
            await _run(trial, _InterruptedSink(trial.sink(), interruption.meet), rows, folder, every)
        except _InterruptedError:
            if every is None and step in ("prepared", "about to commit"):
                await none_visible(trial, rows, when, "at what the writer does when it is left by an error")
        for run in ("the run that follows", "a run with nothing left to write"):
            await done(f"{run} {when}", _run(trial, trial.sink(), rows, folder, every))
            await visible_once(trial, rows, when, _LOOK)


async def _run(
    trial: Trial, sink: Sink[Any, Any, Any, Any], rows: Sequence[Row], folder: str, every: int | None
) -> LocalRun:
    return await run_local(
        sink, trial.elements(rows), folder, checkpoint_every=every, commit_timeout_s=COMMIT_TIMEOUT_S
    )
