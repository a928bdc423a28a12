"""The unified Sink API (FLIP-143): what Spark, or any other runner, is handed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from asyncsink.blocks import EntryBlock
from asyncsink.committer import Committer, GlobalCommitter
from asyncsink.context import InitContext, WriteContext
from asyncsink.serializer import SimpleVersionedSerializer

if TYPE_CHECKING:
    from asyncsink.metrics.kept import Together
    from asyncsink.writer.statistics import WriterStatistics

InputT = TypeVar("InputT")
CommT = TypeVar("CommT")
WriterStateT = TypeVar("WriterStateT")
GlobalCommT = TypeVar("GlobalCommT")


class Sink(ABC, Generic[InputT, CommT, WriterStateT, GlobalCommT]):
    """A picklable description of a destination; makes the writers that do the work.

    A sink without a committer delivers at least once; one with a :class:`~asyncsink.Committer`, a
    :class:`~asyncsink.GlobalCommitter` or both exactly once. It holds no connection and knows nothing of Spark.
    """

    union_states: ClassVar[bool] = False
    """Whether each writer starts from the states of all that were before it, as these hold what was known there and no
    rows (Flink's union list state). Where nothing keeps states, such ones may be lost."""

    progress_metrics: ClassVar[Mapping[str, Together]] = MappingProxyType({})
    """Metrics of its writers that are kept of each batch, by patterns of their names; most need none."""

    @property
    def committable_serializer(self) -> SimpleVersionedSerializer[CommT] | None:
        """How committables become bytes; a class attribute may take its place. A sink with a committer needs it."""
        return None

    @property
    def global_committable_serializer(self) -> SimpleVersionedSerializer[GlobalCommT] | None:
        """How global committables become bytes; a sink with a global committer needs it."""
        return None

    @property
    def writer_state_serializer(self) -> SimpleVersionedSerializer[WriterStateT] | None:
        """How writers' states become bytes; a class attribute may take its place. None: they cannot be kept."""
        return None

    @abstractmethod
    def create_writer(
        self, context: InitContext, states: Sequence[WriterStateT] = ()
    ) -> SinkWriter[InputT, CommT, WriterStateT]:
        """A writer that starts from `states`, in their order. Does no I/O: entering the writer connects."""

    def create_committer(self) -> Committer[CommT] | None:
        """What commits the committables of single writers, if they need it. Does no I/O."""
        return None

    def create_global_committer(self) -> GlobalCommitter[CommT, GlobalCommT] | None:
        """What commits for all writers together, if the sink needs it. Does no I/O."""
        return None


class SinkWriter(ABC, Generic[InputT, CommT, WriterStateT]):
    """Writes elements; an async context manager that one task enters and leaves.

    Order at a commit: flush, prepare_commit, snapshot_state, persist, commit.
    """

    __slots__ = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await self.flush(end_of_input=True)
        finally:
            await self.aclose()

    @abstractmethod
    async def write(self, element: InputT, context: WriteContext | None = None) -> None:
        """Accept one element; waits while there is no room for it."""

    @abstractmethod
    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        """Accept a block of entries that are converted already; ``context.sequence`` is that of the first."""

    async def write_many(self, elements: Sequence[InputT], context: WriteContext | None = None) -> None:
        """Accept elements in order; ``context.sequence`` is that of the first. By default one after the other."""
        for place, element in enumerate(elements):
            await self.write(element, context and context.at(context.sequence + place))

    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``; by default each as a dictionary."""
        await self.write_many(batch.to_pylist(), context)

    def statistics(self) -> WriterStatistics | None:
        """What the writer has done; None, the default, for one that does not count."""
        return None

    @abstractmethod
    async def flush(self, end_of_input: bool = False) -> None:
        """Hand over to the destination what has been accepted."""

    async def prepare_commit(self, flush: bool) -> list[CommT]:
        """What the committer needs to make this writer's work visible; nothing by default.

        :param flush: whether what is not staged yet goes along; else it stays for the next commit, and in the state
        """
        return []

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[WriterStateT]:
        """What a successor needs so that nothing is lost; nothing by default."""
        return []

    @abstractmethod
    async def aclose(self) -> None:
        """Give up all resources, sending nothing more. May be called twice."""
