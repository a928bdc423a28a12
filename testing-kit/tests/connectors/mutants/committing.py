"""Mutants that show what is not committed, commit twice or not at all, or forget what they were asked to remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from staged import STAGED, CommitterSink, PublisherSink, staged_destination

from asyncsink import InitContext, Transaction
from asyncsink_testing.staged_sink import (
    Snapshot,
    SnapshotCommitter,
    Staged,
    StagedCommitter,
    StagedWriter,
    Unstaged,
)
from mutants import mutant

PUBLISHED = staged_destination(publishes=True)


# ---- what is visible -----------------------------------------------------------------------------------------


class _ShowsStaged(StagedWriter):
    def staged(self, name: str, elements: Sequence[Any]) -> Staged:
        staged = super().staged(name, elements)
        self._sink.area.visible += elements  # the bug
        return staged


class _HidesSwept(StagedCommitter):
    """Moves nothing at a commit, as it lies there already, and takes away what is given up."""

    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        area = self._area
        shown, area.visible = area.visible, []
        try:
            return await super().commit(committables)
        finally:
            area.visible = shown

    async def abort(self, committables: Sequence[Staged]) -> None:
        staged = dict(self._area.staged)
        await super().abort(committables)
        self._hide_what_is_gone_of(staged)

    async def sweep(self, transaction: Transaction, states: Sequence[Unstaged]) -> None:
        staged = dict(self._area.staged)
        await super().sweep(transaction, states)
        self._hide_what_is_gone_of(staged)

    def _hide_what_is_gone_of(self, staged: Mapping[str, Sequence[Any]]) -> None:
        for name in staged.keys() - self._area.staged.keys():
            for element in staged[name]:
                self._area.visible.remove(element)


@mutant(["visible-by-commit", "run-interrupted"], STAGED, staged_destination())
class StagesWhereReadersLook(CommitterSink):
    """What its writers stage lies where readers find it."""

    writer: ClassVar[type[StagedWriter]] = _ShowsStaged
    committer: ClassVar[type[StagedCommitter]] = _HidesSwept


# ---- commits -------------------------------------------------------------------------------------------------


class _Appends(StagedCommitter):
    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        again = [each.name for each in committables if each.name in self._area.committed]
        left = await super().commit(committables)
        for name in again:
            self._area.visible += self._area.committed[name]
        return left


@mutant(["commit-twice", "run-interrupted"], STAGED, staged_destination())
class CommitsAgain(CommitterSink):
    """Its committer adds to the destination what it has added before."""

    committer: ClassVar[type[StagedCommitter]] = _Appends


class _RemembersItsOwn(_Appends):
    """Knows what it has committed itself, and nothing of others."""

    def __init__(self, area: Any) -> None:
        super().__init__(area)
        self._own: set[str] = set()

    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        left = await super().commit([each for each in committables if each.name not in self._own])
        self._own |= {each.name for each in committables if each not in left}
        return left


@mutant(["commit-twice", "run-interrupted"], STAGED, staged_destination())
class KeepsInMemoryWhatItHasCommitted(CommitterSink):
    """Its committer is idempotent for as long as it lives."""

    committer: ClassVar[type[StagedCommitter]] = _RemembersItsOwn


class _Noting(StagedWriter):
    known: set[str]

    def staged(self, name: str, elements: Sequence[Any]) -> Staged:
        self.known.add(name)
        return super().staged(name, elements)


class _KnowsItsProcess(StagedCommitter):
    known: set[str]

    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        return await super().commit([each for each in committables if each.name in self.known])


@mutant(["commit-elsewhere", "run-interrupted"], STAGED, staged_destination())
class CommitsByTheWritersSession(CommitterSink):
    """What it stages belongs to a session of its process, and a committer elsewhere finds nothing to do."""

    def _known(self) -> set[str]:
        known: set[str] = self.__dict__.setdefault("known", set())
        return known

    def create_writer(self, context: InitContext, states: Sequence[Unstaged] = ()) -> StagedWriter:
        writer = super().create_writer(context, states)
        assert isinstance(writer, _Noting)
        writer.known = self._known()
        return writer

    def create_committer(self) -> StagedCommitter:
        committer = _KnowsItsProcess(self.area)
        committer.known = self._known()
        return committer

    writer: ClassVar[type[StagedWriter]] = _Noting


class _DropsPostponed(StagedCommitter):
    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        await super().commit(committables)
        return []


@mutant(["commit-retried"], STAGED, staged_destination())
class ForgetsWhatWasPutOff(CommitterSink):
    """Its committer does not return what the destination did not commit yet."""

    committer: ClassVar[type[StagedCommitter]] = _DropsPostponed


class _MakesNewOnes(StagedCommitter):
    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        return [Staged(f"{each.name}-again") for each in await super().commit(committables)]


@mutant(["commit-retried"], STAGED, staged_destination())
class ReturnsWhatItWasNotGiven(CommitterSink):
    """Its committer returns committables of its own making."""

    committer: ClassVar[type[StagedCommitter]] = _MakesNewOnes


# ---- what is committed for all -------------------------------------------------------------------------------


class _PublishesAgain(SnapshotCommitter):
    async def commit(self, committables: Sequence[Snapshot]) -> list[Snapshot]:
        again = [each for each in committables if each.names in self._area.snapshots]
        left = await super().commit(committables)
        if again:
            self._area.published += [*self._area.published]
        return left


@mutant(["global-commit-twice"], STAGED, PUBLISHED)
class PublishesAgain(PublisherSink):
    """Its global committer adds a snapshot that is there to the list."""

    publisher: ClassVar[type[SnapshotCommitter]] = _PublishesAgain


class _ReturnsAll(SnapshotCommitter):
    async def filter_recovered_committables(self, recovered: Sequence[Snapshot]) -> list[Snapshot]:
        return [*recovered]


@mutant(["global-recovered"], STAGED, PUBLISHED)
class RecoversWhatIsPublished(PublisherSink):
    """Its filter takes everything for interrupted."""

    publisher: ClassVar[type[SnapshotCommitter]] = _ReturnsAll


class _ReturnsNothing(SnapshotCommitter):
    async def filter_recovered_committables(self, recovered: Sequence[Snapshot]) -> list[Snapshot]:
        return []


@mutant(["global-recovered", "run-interrupted"], STAGED, PUBLISHED)
class RecoversNothing(PublisherSink):
    """Its filter takes everything for committed."""

    publisher: ClassVar[type[SnapshotCommitter]] = _ReturnsNothing


class _ReturnsOthers(SnapshotCommitter):
    async def filter_recovered_committables(self, recovered: Sequence[Snapshot]) -> list[Snapshot]:
        return [Snapshot(f"{each.names} ") for each in await super().filter_recovered_committables(recovered)]


@mutant(["global-recovered", "run-interrupted"], STAGED, PUBLISHED)
class RecoversOthers(PublisherSink):
    """Its filter returns global committables of its own making, for the same rows."""

    publisher: ClassVar[type[SnapshotCommitter]] = _ReturnsOthers
