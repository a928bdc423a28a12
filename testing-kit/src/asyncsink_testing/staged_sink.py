"""A sink that commits in two phases, over a model of a destination: for tests of whoever runs such sinks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from asyncsink import (
    Committer,
    DataclassSerializer,
    EntryBlock,
    GlobalCommitter,
    InitContext,
    LostCommittablesError,
    SimpleVersionedSerializer,
    Sink,
    SinkWriter,
    Sweeper,
    Transaction,
    WriteContext,
)


@dataclass(frozen=True)
class Staged:
    """What a writer has staged: a committable."""

    name: str


@dataclass(frozen=True)
class Snapshot:
    """What is published together: a global committable."""

    names: str


@dataclass(frozen=True)
class Unstaged:
    """Elements that a writer has neither staged nor lost: its state."""

    elements: str


def _nothing(what: str) -> None:
    """Meets every call; a test may raise here."""


@dataclass
class StagingArea:
    """The destination: elements are staged under a name, and visible once that is committed.

    :ivar staged: by name, elements that nobody sees yet
    :ivar visible: elements that a committer has made visible, in the order of the commits
    :ivar published: elements of the snapshots that a global committer has published
    :ivar committed: names that were committed
    :ivar snapshots: the global committables that were committed, each once
    :ivar postponed: by name, how often a commit is yet to be put off
    :ivar events: calls of the committers, in order
    :ivar meet: called before each effect with its name, such as ``"stage x"``
    """

    staged: dict[str, list[Any]] = field(default_factory=dict)
    visible: list[Any] = field(default_factory=list)
    published: list[Any] = field(default_factory=list)
    committed: dict[str, list[Any]] = field(default_factory=dict)
    snapshots: list[str] = field(default_factory=list)
    postponed: dict[str, int] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    meet: Callable[[str], None] = _nothing

    def stage(self, name: str, elements: Sequence[Any]) -> None:
        """Stage elements.

        :raises ValueError: the name is in use
        """
        self.meet(f"stage {name}")
        if name in self.staged or name in self.committed:
            raise ValueError(f"{name} was staged before")
        self.staged[name] = list(elements)

    def commit(self, name: str) -> bool:
        """Make visible what is staged by this name; again, it does nothing. False if there is nothing by that name."""
        self.meet(f"commit {name}")
        if name in self.committed:
            return True
        if name not in self.staged:
            return False
        self.committed[name] = self.staged.pop(name)
        self.visible += self.committed[name]
        return True

    def publish(self, snapshot: Snapshot, *, is_committed: bool) -> bool:
        """Publish what is staged by some names, or committed if the sink has a committer for that; again, do nothing.

        False if there is nothing by one of the names.
        """
        self.meet(f"publish {snapshot.names}")
        if snapshot.names in self.snapshots:
            return True
        names, source = json.loads(snapshot.names), self.committed if is_committed else self.staged
        if any(name not in source for name in names):
            return False
        self.snapshots.append(snapshot.names)
        for name in names:
            self.published += source[name] if is_committed else source.pop(name)
        return True

    def lose(self) -> None:
        """Forget all that is staged, as a service does with transactions that have timed out."""
        self.staged.clear()


class StagedSink(Sink[Any, Staged, Unstaged, Snapshot]):
    """Stages elements, and has a committer, a global committer, both or neither; with neither, staging is storing.

    :param keeps: elements that a writer keeps in its state where it is not asked to flush
    """

    committable_serializer: SimpleVersionedSerializer[Staged] | None = DataclassSerializer(Staged)
    global_committable_serializer: SimpleVersionedSerializer[Snapshot] | None = DataclassSerializer(Snapshot)
    writer_state_serializer: SimpleVersionedSerializer[Unstaged] | None = DataclassSerializer(Unstaged)

    def __init__(self, area: StagingArea, *, commits: bool = True, publishes: bool = False, keeps: int = 0) -> None:
        self.area, self.commits, self.publishes, self.keeps = area, commits, publishes, keeps

    def create_writer(self, context: InitContext, states: Sequence[Unstaged] = ()) -> StagedWriter:
        return StagedWriter(self, context, states)

    def create_committer(self) -> Committer[Staged] | None:
        return StagedCommitter(self.area) if self.commits else None

    def create_global_committer(self) -> GlobalCommitter[Staged, Snapshot] | None:
        return SnapshotCommitter(self.area, is_committed=self.commits) if self.publishes else None


class StagedWriter(SinkWriter[Any, Staged, Unstaged]):
    """Collects elements, and stages them when a commit is prepared; where nothing is committed, a flush stores them."""

    def __init__(self, sink: StagedSink, context: InitContext, states: Sequence[Unstaged]) -> None:
        self._sink, self._context = sink, context
        self._elements = [element for state in states for element in json.loads(state.elements)]
        self._number, self._is_closed = 0, False

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        self._elements.append(element)

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        self._elements += block

    async def flush(self, end_of_input: bool = False) -> None:
        self._sink.area.meet("flush")
        if self._context.transaction is None and not self._is_closed:
            self._sink.area.visible += self._elements
            self._elements = []

    async def prepare_commit(self, flush: bool) -> list[Staged]:
        split = len(self._elements) if flush else max(0, len(self._elements) - self._sink.keeps)
        ready, self._elements = self._elements[:split], self._elements[split:]
        if not ready:
            return []
        transaction, self._number = self._context.transaction, self._number + 1
        if transaction is None:
            self._sink.area.visible += ready
            return []
        return [self.staged(self.name(transaction), ready)]

    def name(self, transaction: Transaction) -> str:
        """What is staged next is staged by this name."""
        attempt = f"{self._context.writer_id}-{self._context.attempt}-{self._number}"
        return f"{transaction.sink_id}-{transaction.generation}-{attempt}"

    def staged(self, name: str, elements: Sequence[Any]) -> Staged:
        """Stage elements; returns what commits them."""
        self._sink.area.stage(name, elements)
        return Staged(name)

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[Unstaged]:
        return [Unstaged(json.dumps(self._elements))] if self._elements else []

    async def aclose(self) -> None:
        self._is_closed = True


class _Sweeping(Sweeper[Staged]):
    """Removes what is staged."""

    _area: StagingArea

    async def abort(self, committables: Sequence[Staged]) -> None:
        self._area.events.append("abort")
        for each in committables:
            self._area.staged.pop(each.name, None)

    async def sweep(self, transaction: Transaction, states: Sequence[Unstaged]) -> None:
        self._area.events.append("sweep")
        for name in [name for name in self._area.staged if name.startswith(f"{transaction.sink_id}-")]:
            # What bears the number of a later attempt is a successor's.
            if int(name.split("-")[1]) <= transaction.generation:
                del self._area.staged[name]

    async def open_transactions(self, transaction: Transaction) -> list[str]:
        self._area.meet("list")
        return [name for name in self._area.staged if name.startswith(f"{transaction.sink_id}-")]


class StagedCommitter(_Sweeping, Committer[Staged]):
    """Commits name by name; what is not there any more is lost."""

    def __init__(self, area: StagingArea) -> None:
        self._area = area

    async def commit(self, committables: Sequence[Staged]) -> list[Staged]:
        self._area.events.append("commit")
        again, lost = [], []
        for each in committables:
            if self._area.postponed.get(each.name, 0) > 0:
                self._area.postponed[each.name] -= 1
                again.append(each)
            elif not self._area.commit(each.name):
                lost.append(each)
        if lost:
            raise LostCommittablesError("nothing is staged by that name", lost, again)
        return again


class SnapshotCommitter(_Sweeping, GlobalCommitter[Staged, Snapshot]):
    """Publishes what all writers have staged."""

    def __init__(self, area: StagingArea, *, is_committed: bool) -> None:
        self._area, self._is_committed = area, is_committed

    async def filter_recovered_committables(self, recovered: Sequence[Snapshot]) -> list[Snapshot]:
        self._area.events.append("filter")
        return [each for each in recovered if each.names not in self._area.snapshots]

    async def combine(self, committables: Sequence[Staged]) -> Snapshot:
        self._area.events.append("combine")
        return Snapshot(json.dumps([each.name for each in committables]))

    async def commit(self, committables: Sequence[Snapshot]) -> list[Snapshot]:
        self._area.events.append("publish")
        lost = [each for each in committables if not self._area.publish(each, is_committed=self._is_committed)]
        if lost:
            raise LostCommittablesError("what a snapshot names is not there", lost)
        return []

    async def end_of_input(self) -> None:
        self._area.events.append("end_of_input")
