"""A connector that commits in two phases and does everything right, over a staging area in process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from reference import CAPABILITIES, JsonConverter, ReferenceOptions

from asyncsink import (
    AsyncSinkWriterConfig,
    Committer,
    ConfiguredSink,
    ConnectorOptions,
    DataclassSerializer,
    ElementConverter,
    GlobalCommitter,
    InitContext,
    Schema,
    SimpleVersionedSerializer,
)
from asyncsink.errors import ConfigurationError, DestinationUnavailableError
from asyncsink_testing import Received
from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.conformance.scripted import Scripted
from asyncsink_testing.faults import Fault
from asyncsink_testing.staged_sink import (
    Snapshot,
    SnapshotCommitter,
    Staged,
    StagedCommitter,
    StagedSink,
    StagedWriter,
    StagingArea,
    Unstaged,
)

STAGED = replace(
    CAPABILITIES,
    guarantee="exactly-once",
    ordering="none",
    partial_failure=False,
    rejects_entries=False,
    retry_after=False,
    commits=True,
    max_batch_entries=None,
    max_batch_bytes=None,
    max_record_bytes=None,
)


class StagedDestination(Scripted):
    """A :class:`~asyncsink_testing.Destination` over a :class:`StagingArea`, found by its endpoint; it has no faults.

    :param publishes: whether what is published stands in it, and not what is only committed
    """

    _open: ClassVar[dict[str, StagedDestination]] = {}
    _numbers: ClassVar[Iterator[int]] = count(1)

    supported: ClassVar[frozenset[Fault]] = frozenset()
    requests: ClassVar[Sequence[SeenRequest] | None] = None
    peak_in_flight: ClassVar[int | None] = None
    open_connections: ClassVar[int | None] = None

    def __init__(self, *, publishes: bool = False) -> None:
        super().__init__(by_index=False)
        self.area, self._publishes = StagingArea(), publishes
        self.endpoint = f"staging-{next(self._numbers)}"

    @classmethod
    @contextmanager
    def opened(cls, *, publishes: bool = False) -> Iterator[StagedDestination]:
        """One that can be found by its endpoint until this is left."""
        destination = cls(publishes=publishes)
        cls._open[destination.endpoint] = destination
        try:
            yield destination
        finally:
            del cls._open[destination.endpoint]

    @classmethod
    def at(cls, endpoint: str) -> StagingArea:
        """The area at `endpoint`; where there is none, one whose every use is refused."""
        return cls._open[endpoint].area if endpoint in cls._open else StagingArea(meet=_refuse)

    def postpone(self, times: int) -> None:
        """Put off each commit of what is staged so many times."""
        self.area.postponed = dict.fromkeys(self.area.staged, times)

    async def received(self) -> Sequence[Received]:
        rows = self.area.published if self._publishes else self.area.visible
        return [Received(json.dumps(row).encode(), position=place) for place, row in enumerate(rows)]


def _refuse(what: str) -> None:
    raise DestinationUnavailableError(f"no staging area is there to {what.partition(' ')[0]}; name one that is open")


def staged_destination(*, publishes: bool = False) -> Callable[[], AbstractAsyncContextManager[StagedDestination]]:
    """What opens destinations of this kind, for the checks."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[StagedDestination]:
        with StagedDestination.opened(publishes=publishes) as destination:
            yield destination

    return opened


class CommitterSink(ConfiguredSink[Any, Staged, Unstaged, Snapshot]):
    """Stages rows at a :class:`StagedDestination`, and has a committer. Its writers keep two rows for later."""

    options_type: ClassVar[type[ConnectorOptions]] = ReferenceOptions
    committable_serializer: SimpleVersionedSerializer[Staged] | None = DataclassSerializer(Staged)
    global_committable_serializer: SimpleVersionedSerializer[Snapshot] | None = DataclassSerializer(Snapshot)
    writer_state_serializer: SimpleVersionedSerializer[Unstaged] | None = DataclassSerializer(Unstaged)
    commits: ClassVar[bool] = True
    publishes: ClassVar[bool] = False
    writer: ClassVar[type[StagedWriter]] = StagedWriter
    committer: ClassVar[type[StagedCommitter]] = StagedCommitter
    publisher: ClassVar[type[SnapshotCommitter]] = SnapshotCommitter

    @property
    def area(self) -> StagingArea:
        return StagedDestination.at(self.options.endpoint)

    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return JsonConverter()

    def sizes(self, entries: Sequence[Any]) -> Sequence[int]:
        return [len(entry.payload) for entry in entries]

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        if config.ordering != "none":
            raise ConfigurationError(f"ordering = {config.ordering!r}; rows are staged without keys, use 'none'")

    def create_writer(self, context: InitContext, states: Sequence[Unstaged] = ()) -> StagedWriter:
        over = StagedSink(self.area, commits=self.commits, publishes=self.publishes, keeps=2)
        return self.writer(over, context, states)

    def create_committer(self) -> Committer[Staged] | None:
        return self.committer(self.area) if self.commits else None

    def create_global_committer(self) -> GlobalCommitter[Staged, Snapshot] | None:
        return self.publisher(self.area, is_committed=self.commits) if self.publishes else None


class PublisherSink(CommitterSink):
    """It has a global committer alone."""

    commits: ClassVar[bool] = False
    publishes: ClassVar[bool] = True


class BothSink(CommitterSink):
    """It has a committer and a global one."""

    publishes: ClassVar[bool] = True


class StoringSink(CommitterSink):
    """It has neither: what its writers flush is stored. They have no timer."""

    commits: ClassVar[bool] = False
