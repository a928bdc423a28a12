"""What the ledgers say, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from typing import Final

from asyncsink.cli.destination import Destination
from asyncsink.cli.status import LOCAL, Counts, LearnedLimit, SinkStatus, Status
from asyncsink.ledger import BatchProgress

_HEADINGS: Final = ("batch", "committed (UTC)", "rows in", "stored", "dead-lettered", "dropped", "retried", "throttled")


def as_json(status: Status) -> str:
    """One JSON document with the fields of :class:`Status`, by their names."""
    return json.dumps(asdict(status), indent=2)


def as_text(status: Status) -> str:
    """A part for each sink, and the errors last."""
    lines: list[str] = []
    for each in status.sinks:
        lines += [each.location, *(f"  {line}".rstrip() for line in _sink(each, status)), ""]
    if status.error is not None:
        lines.append(f"error: {status.error}")
    return "\n".join(lines).rstrip()


def _sink(sink: SinkStatus, status: Status) -> Iterator[str]:
    for name, value in _facts(sink, status):
        yield f"{name:<23} {value}"
    if sink.kept.batches:
        yield ""
        yield from _table(sink)
    asked = sink.destination or Destination()
    for warning in filter(None, (sink.warning, asked.warning)):
        yield ""
        yield f"warning: {warning}"
    for error in filter(None, (*sink.errors, asked.error)):
        yield ""
        yield f"error: {error}"


def _facts(sink: SinkStatus, status: Status) -> Iterator[tuple[str, str]]:
    yield "query", sink.query_id or _no_query(sink)
    yield "last committed batch", _committed(sink)
    if status.query_id is not None:
        yield "noted by Spark", "none" if status.spark_batch_id is None else str(status.spark_batch_id)
    yield "tasks at work at once", "not known" if sink.writers is None else str(sink.writers)
    yield "writer states kept", f"{sink.writer_states} ({sink.writer_states_bytes} bytes)"
    if sink.attempt is not None:
        yield "last attempt", str(sink.attempt)
    if sink.destination is not None:
        yield from _of_destination(sink.destination)
    yield from _metrics(sink.last)
    for scope in dict.fromkeys(each.scope for each in sink.learned):
        yield "learned limit", f"{scope}: {', '.join(_limit(each) for each in sink.learned if each.scope == scope)}"


def _metrics(batches: Sequence[BatchProgress]) -> Iterator[tuple[str, str]]:
    """What the newest batch that has kept any has kept, a line for each group of names."""
    told = next((each for each in reversed(batches) if each.metrics), None)
    groups: dict[str, list[str]] = {}
    for path, value in {} if told is None else told.metrics.items():
        group, _, name = path.rpartition(".")
        groups.setdefault(group, []).append(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}")
    lines = [f"{group}: {', '.join(found)}" if group else ", ".join(found) for group, found in sorted(groups.items())]
    yield from zip(("metrics of last batch", *[""] * len(lines)), lines, strict=False)


def _no_query(sink: SinkStatus) -> str:
    if sink.sink == LOCAL:
        return "none, this is the state of run_local"
    return "none is known" if sink.batch_id is None else "none, these are batch jobs"


def _of_destination(destination: Destination) -> Iterator[tuple[str, str]]:
    """Each name once, before the first of its lines."""
    if destination.ended is not None:
        lines = destination.ended or ("nothing was ever begun",)
        yield from zip(("ended", *[""] * len(lines)), lines, strict=False)
    if destination.error is None or destination.open:
        lines = destination.open or ("none",)
        yield from zip(("open transactions", *[""] * len(lines)), lines, strict=False)


def _committed(sink: SinkStatus) -> str:
    if sink.batch_id is None:
        return "none"
    at = "at a time that is not kept" if sink.committed_at_ms is None else f"{_time(sink.committed_at_ms)} UTC"
    return f"{sink.batch_id}, {at}"


def _limit(learned: LearnedLimit) -> str:
    return "of a strategy of your own" if learned.strategy is None else f"{learned.strategy} {learned.limit}"


def _table(sink: SinkStatus) -> Iterator[str]:
    """A line for each of the last batches, and one for all that are kept."""
    lines = [
        _HEADINGS,
        *((str(each.batch_id), _time(each.committed_at_ms), *_counts(Counts.of([each]))) for each in sink.last),
        ("all", f"{sink.kept.batches} kept", *_counts(sink.kept)),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))


def _counts(counts: Counts) -> Sequence[str]:
    return [str(each) for each in astuple(counts)[1:]]


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
