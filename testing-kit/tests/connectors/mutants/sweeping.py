"""Mutants that leave behind what is given up, take away what is not theirs, or mix up attempts; and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from staged import STAGED, CommitterSink, staged_destination

from asyncsink import DataclassSerializer, InitContext, SimpleVersionedSerializer, Transaction
from asyncsink_testing.staged_sink import Staged, StagedCommitter, StagedWriter, Unstaged
from mutants import mutant

# ---- what is given up ----------------------------------------------------------------------------------------


class _AbortsNothing(StagedCommitter):
    async def abort(self, committables: Sequence[Staged]) -> None:
        """Leave it there."""


@mutant(["abort-final"], STAGED, staged_destination())
class LeavesWhatIsAborted(CommitterSink):
    """Its committer leaves what is aborted where a zombie finds it."""

    committer: ClassVar[type[StagedCommitter]] = _AbortsNothing


class _SweepsNothing(StagedCommitter):
    async def sweep(self, transaction: Transaction, states: Sequence[Unstaged]) -> None:
        """Leave it there."""


@mutant(["sweep-final"], STAGED, staged_destination())
class LeavesWhatIsDead(CommitterSink):
    """Its committer never looks for what dead attempts have left."""

    committer: ClassVar[type[StagedCommitter]] = _SweepsNothing


class _SweepsAll(StagedCommitter):
    async def sweep(self, transaction: Transaction, states: Sequence[Unstaged]) -> None:
        self._area.staged.clear()


@mutant(["sweep-spares"], STAGED, staged_destination())
class SweepsWhatIsNotItsOwn(CommitterSink):
    """Its committer removes all that is staged, whoever has staged it."""

    committer: ClassVar[type[StagedCommitter]] = _SweepsAll


class _SweepsSuccessors(StagedCommitter):
    async def sweep(self, transaction: Transaction, states: Sequence[Unstaged]) -> None:
        for name in [name for name in self._area.staged if name.startswith(f"{transaction.sink_id}-")]:
            del self._area.staged[name]


@mutant(["sweep-spares"], STAGED, staged_destination())
class SweepsItsSuccessors(CommitterSink):
    """Its committer removes all that its job has staged, be it by a successor of its process."""

    committer: ClassVar[type[StagedCommitter]] = _SweepsSuccessors


# ---- attempts ------------------------------------------------------------------------------------------------


class _NamedWithoutAttempt(StagedWriter):
    def name(self, transaction: Transaction) -> str:
        return f"{transaction.sink_id}-{transaction.generation}-{self._context.writer_id}-{self._number}"


@mutant(["attempts-apart"], STAGED, staged_destination())
class NamesWithoutAttempt(CommitterSink):
    """Two attempts of a task stage by the same names."""

    writer: ClassVar[type[StagedWriter]] = _NamedWithoutAttempt


class _NamedWithoutGeneration(StagedWriter):
    def name(self, transaction: Transaction) -> str:
        return f"{transaction.sink_id}-{self._context.writer_id}-{self._context.attempt}-{self._number}"


@mutant(["run-interrupted", "sweep-spares"], STAGED, staged_destination())
class NamesWithoutGeneration(CommitterSink):
    """A job that starts again stages by the names that it has used before."""

    writer: ClassVar[type[StagedWriter]] = _NamedWithoutGeneration


@mutant(["run-interrupted", "sweep-spares"], STAGED, staged_destination())
class StartsWithoutItsState(CommitterSink):
    """Its writers start with nothing, whatever their predecessors have kept for later."""

    def create_writer(self, context: InitContext, states: Sequence[Unstaged] = ()) -> StagedWriter:
        return super().create_writer(context)


# ---- bytes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted(Staged):
    """A name, and how many elements are staged by it."""

    count: int = 0


class _WithoutCount(DataclassSerializer[Staged]):
    def deserialize(self, version: int, data: bytes) -> Staged:
        return _Counted(super().deserialize(version, data).name)


class _Counting(StagedWriter):
    def staged(self, name: str, elements: Sequence[Any]) -> Staged:
        return _Counted(super().staged(name, elements).name, len(elements))


@mutant(["committable-round-trip"], STAGED, staged_destination())
class SerializesWithoutCount(CommitterSink):
    """Its serializer of committables was not told of a field that came later."""

    committable_serializer: SimpleVersionedSerializer[Staged] | None = _WithoutCount(Staged)
    writer: ClassVar[type[StagedWriter]] = _Counting


class _AnyVersion(DataclassSerializer[Staged]):
    def deserialize(self, version: int, data: bytes) -> Staged:
        return super().deserialize(self.version, data)


@mutant(["committable-unknown-version"], STAGED, staged_destination())
class CommitsAnyVersion(CommitterSink):
    """Its serializer of committables does not look at the version."""

    committable_serializer: SimpleVersionedSerializer[Staged] | None = _AnyVersion(Staged)


class _BareName(SimpleVersionedSerializer[Staged]):
    version = 1

    def serialize(self, value: Staged) -> bytes:
        return value.name.encode()

    def deserialize(self, version: int, data: bytes) -> Staged:
        self._check_version(version)
        return Staged(data.decode())


@mutant(["committable-truncated"], STAGED, staged_destination())
class SerializesABareName(CommitterSink):
    """The bytes of its committables are a text, of which each beginning is one too."""

    committable_serializer: SimpleVersionedSerializer[Staged] | None = _BareName()
