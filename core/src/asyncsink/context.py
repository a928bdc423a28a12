"""What a writer and its converter know about where they run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import uuid4

from asyncsink.metrics.group import UNREGISTERED, MetricGroup
from asyncsink.processing_time import ProcessingTimers, ProcessingTimeService

if TYPE_CHECKING:
    from asyncsink.limits.limiter import LimiterCache
    from asyncsink.transactions.transaction import Transaction

ClientT = TypeVar("ClientT")


@dataclass(slots=True)
class WriteContext:
    """What is known about one element (FLIP-143).

    :param timestamp: the element's event time in ms since the epoch, if it has one
    :param current_watermark: ms; None under Spark, which hands no watermark to a sink
    :param sequence: the element's position among those of its writer, from 0; stable when a task is repeated
    """

    timestamp: int | None = None
    current_watermark: int | None = None
    sequence: int = 0

    def at(self, sequence: int) -> WriteContext:
        """A context for the element with this sequence, like this one in all else."""
        return WriteContext(self.timestamp, self.current_watermark, sequence)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the rows to come: its name, its type in Spark's short form (``bigint``, ``map<string,int>``)."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of the rows to come, in order. None takes its place where elements have no schema."""

    columns: tuple[Column, ...]

    def find(self, name: str) -> Column | None:
        """The column of that name, compared without case as Spark does; None if there is none."""
        folded = name.lower()
        return next((column for column in self.columns if column.name.lower() == folded), None)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


class ClientCache(Protocol):
    """Keeps clients and limiters for longer than one writer lives, such as over Spark's micro-batches."""

    def lease(
        self, fingerprint: str, connect: Callable[[], AbstractAsyncContextManager[ClientT]]
    ) -> AbstractAsyncContextManager[ClientT]:
        """Lend the client of `fingerprint`, made by `connect` if there is none; one user at a time.

        A client whose lease ends with an exception is not lent again.
        """

    def limiters(self, fingerprint: str) -> LimiterCache:
        """The limiters, one per scope, of the writers with `fingerprint`, with what they have learned."""


class InitContext(Protocol):
    """What a writer is told when it is made (FLIP-143).

    `writer_id` is Spark's partition; `attempt` tells the runs of the same task apart; `query_id` and `batch_id` name
    the micro-batch; `restored_batch_id` is that of the state that is restored; `schema` that of the rows, if they have
    one; `clients` is None where every writer makes its own client. In `metric_group` the writer registers what it tells
    of itself, and a connector what it wants to add. `processing_time_service` calls back at times. `transaction` is
    what the writer of a sink with a committer prepares for; None where nothing will be committed. A writer that
    lives on over several commits, as in `run_local`, prepares all of them under the first.
    """

    @property
    def writer_id(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def query_id(self) -> str | None: ...
    @property
    def batch_id(self) -> int | None: ...
    @property
    def restored_batch_id(self) -> int | None: ...
    @property
    def schema(self) -> Schema | None: ...
    @property
    def clients(self) -> ClientCache | None: ...
    @property
    def metric_group(self) -> MetricGroup: ...
    @property
    def processing_time_service(self) -> ProcessingTimeService: ...
    @property
    def transaction(self) -> Transaction | None: ...


@dataclass(frozen=True, kw_only=True)
class WriterInitContext:
    """The :class:`InitContext` of a program without Spark, and the base of Spark's."""

    writer_id: int = 0
    attempt: int = 0
    query_id: str | None = None
    batch_id: int | None = None
    restored_batch_id: int | None = None
    schema: Schema | None = None
    clients: ClientCache | None = field(default=None, compare=False, repr=False)
    metric_group: MetricGroup = field(default=UNREGISTERED, compare=False, repr=False)
    processing_time_service: ProcessingTimeService = field(default_factory=ProcessingTimers, compare=False, repr=False)
    transaction: Transaction | None = None


def idempotency_prefix(context: InitContext) -> str:
    """The part of a row's idempotency id that its writer's rows share; the row's sequence follows it.

    ``<query>/<batch>/<partition>/``: the same whenever Spark replays the micro-batch. Without a query id nothing
    outlives the writer, so a random one takes its place.
    """
    batch = "-" if context.batch_id is None else context.batch_id
    return f"{context.query_id or uuid4().hex}/{batch}/{context.writer_id}/"
