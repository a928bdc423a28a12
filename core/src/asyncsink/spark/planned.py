"""What Spark's writers of batch jobs and of micro-batches have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from asyncsink.spark.commit import TaskCommit, commits, log_progress, summed
from asyncsink.spark.planning import Plan
from asyncsink.spark.process import spare_what_is_loaded
from asyncsink.spark.recovery import Recovered, keep, recover
from asyncsink.spark.sentences import ours
from asyncsink.spark.transactions import abort, begin, commit
from asyncsink.spark.versions import packed

if TYPE_CHECKING:
    import pyarrow as pa


class PlannedWriter:
    """A plan, and what the ledger said when Spark handed it to the tasks.

    Spark pickles a writer where it plans a batch, twice, and never where it commits a stream's. So the ledger is read
    when a writer is first pickled, once: all tasks of a batch start from the same.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._recovered: Recovered | None = None
        self._is_recovered = False

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._is_recovered:
            with ours(f"reading the ledger of {self._plan.connector!r}"):
                self._recovered = self._recover()
            self._is_recovered = True
        spare_what_is_loaded()
        return packed(self, self.__dict__, self._plan.sink)

    def _recover(self) -> Recovered | None:
        plan = self._plan
        return begin(plan) if plan.transactional else recover(plan.connector, plan.door, plan.streaming)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> TaskCommit:
        from asyncsink.spark.task import write_task

        return write_task(self._plan, self._recovered, batches)

    def _commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        plan, tasks = self._plan, commits(messages)
        with ours(f"committing to {plan.connector!r}"):
            progress = summed(plan.connector, batch_id, tasks, plan.sink.progress_metrics)
            log_progress(progress)
            if plan.transactional:
                commit(plan, progress, tasks)
            else:
                keep(plan.connector, plan.door, plan.streaming, progress, tasks)
        spare_what_is_loaded()

    def _abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """What was delivered stays; what was only prepared is given up, unless it is decided that it is committed."""
        if self._plan.transactional:
            with ours(f"giving up a batch of {self._plan.connector!r}"):
                abort(self._plan, self._recovered, commits(messages))
