"""What became of one batch, for people and their tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from asyncsink.ledger.envelope import decode, encode

_KIND = "progress"
_WITHOUT = "remove it: what became of its batch is then not known"
Data = bytes


@dataclass(frozen=True, kw_only=True)
class BatchProgress:
    """The sums over the tasks of one micro-batch, or of one batch job.

    :param sink: the sink's name
    :param query_id: Spark's id of the query; None for batch jobs
    :param batch_id: the micro-batch, or the number of the job in its ledger; None without a ledger
    :param committed_at_ms: when the driver wrote this, in ms since the epoch
    :param skipped: whether Spark has only repeated the batch; false in every file, as a repeated batch keeps its first
    :param tasks: tasks that had rows
    :param rows_in: rows that Spark has handed over
    :param restored: entries that writers have taken over from the batch before
    :param rows: rows that the destination has stored
    :param dead_lettered: rows that were given up and kept as dead letters
    :param dropped: rows that were given up, as the user asked
    :param left: entries that writers have left to the next batch, as far as they count them
    :param writer_states: states of writers that ``state.json`` keeps for the next batch
    :param bytes: of the rows in Arrow's form
    :param requests: sends, resends included
    :param failed_requests: requests that ended without an answer for each entry
    :param retried: entries sent again, once for each time
    :param throttled: entries that the service throttled, once for each time
    :param limit: entries that the next request may hold by the rate limit, of the task that may send least
    :param writers: tasks that were at work at once
    :param slowest_task_s: from a task's first batch to its last acknowledgement
    :param request_p50_s: the median of the tasks' medians of a request's time; None if nothing was sent
    :param request_p99_s: the largest of their 99th percentiles
    :param metrics: what else the sink wants kept of its writers, such as the rows of each of several destinations
    """

    sink: str
    query_id: str | None
    batch_id: int | None
    committed_at_ms: int
    skipped: bool = False
    tasks: int = 0
    rows_in: int = 0
    restored: int = 0
    rows: int = 0
    dead_lettered: int = 0
    dropped: int = 0
    left: int = 0
    writer_states: int = 0
    bytes: int = 0
    requests: int = 0
    failed_requests: int = 0
    retried: int = 0
    throttled: int = 0
    limit: int | None = None
    writers: int | None = None
    slowest_task_s: float = 0.0
    request_p50_s: float | None = None
    request_p99_s: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether every row that came in is accounted for."""
        return self.rows_in + self.restored == self.rows + self.dead_lettered + self.dropped + self.left

    def to_bytes(self) -> Data:
        return encode(_KIND, asdict(self))

    @classmethod
    def from_bytes(cls, data: Data, where: str) -> Self:
        """:raises LedgerError: the file is damaged or of a newer release"""
        return decode(_KIND, data, where, cls._read, _WITHOUT)

    @classmethod
    def _read(cls, found: Mapping[str, Any]) -> Self:
        return cls(**{each.name: found[each.name] for each in fields(cls) if each.name in found})
