"""The listener: what it tells of files and events in any order, and with a Spark that runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import DataFrame, SparkSession

from asyncsink.cli.status import status
from asyncsink.errors import LedgerUnavailableError
from asyncsink.ledger import FOLDER, BatchProgress, Ledger, LedgerState, open_store
from asyncsink.spark import ProgressListener

QUERY, OTHER = UUID(int=1), UUID(int=2)


def commit(location: Path, *batches: int, query: UUID = QUERY, sink: str = "toy") -> None:
    """What a sink writes when it commits: batch n had n rows."""
    ledger = Ledger(open_store(str(location)).within(FOLDER).within(sink))
    for batch_id in batches:
        counts = {"rows_in": batch_id, "rows": batch_id}
        told = BatchProgress(sink=sink, query_id=str(query), batch_id=batch_id, committed_at_ms=1, **counts)  # type: ignore[arg-type]
        ledger.commit(LedgerState(query_id=str(query), batch_id=batch_id), told)


def progressed(batch_id: int, query: UUID = QUERY) -> Any:
    return SimpleNamespace(progress=SimpleNamespace(id=query, batchId=batch_id))


def started(query: UUID = QUERY) -> Any:
    return SimpleNamespace(id=query)


terminated = started


@pytest.fixture
def told() -> list[int | None]:
    return []


@pytest.fixture
def listener(tmp_path: Path, told: list[int | None]) -> ProgressListener:
    return ProgressListener(str(tmp_path), lambda progress: told.append(progress.batch_id))


def test_each_batch_is_told_with_its_event(listener: ProgressListener, told: list[int | None], tmp_path: Path) -> None:
    for batch_id in range(3):
        commit(tmp_path, batch_id)
        listener.onQueryProgress(progressed(batch_id))
        assert told == [*range(batch_id + 1)]


def test_a_file_that_comes_after_its_event_is_told_with_the_next_in_order(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    listener.onQueryProgress(progressed(4))
    listener.onQueryProgress(progressed(5))
    commit(tmp_path, 4, 5)
    assert told == []
    commit(tmp_path, 6)
    listener.onQueryProgress(progressed(6))
    assert told == [4, 5, 6]


def test_a_file_that_comes_after_the_last_event_is_told_when_the_query_ends(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, 0)
    listener.onQueryProgress(progressed(0))
    listener.onQueryProgress(progressed(1))
    commit(tmp_path, 1)
    listener.onQueryTerminated(terminated())
    assert told == [0, 1]


def test_a_batch_without_a_file_is_left_out(listener: ProgressListener, told: list[int | None], tmp_path: Path) -> None:
    commit(tmp_path, 0, 2)
    for batch_id in range(3):
        listener.onQueryProgress(progressed(batch_id))
    assert told == [0, 2]


def test_a_batch_that_is_repeated_after_a_restart_is_told_once(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, 0, 1)
    listener.onQueryProgress(progressed(0))
    listener.onQueryProgress(progressed(1))
    listener.onQueryTerminated(terminated())
    listener.onQueryStarted(started())
    listener.onQueryProgress(progressed(1))
    commit(tmp_path, 2)
    listener.onQueryProgress(progressed(2))
    assert told == [0, 1, 2]


def test_the_batches_of_a_query_that_was_rewound_are_told_anew(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, 0, 1, 2, 3)
    for batch_id in (2, 3, 1, 2):
        listener.onQueryProgress(progressed(batch_id))
    assert told == [2, 3, 1, 2]


def test_batches_from_before_the_listener_are_not_told(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, *range(8))
    listener.onQueryProgress(progressed(7))
    assert told == [7]


def test_the_events_of_another_query_tell_nothing_and_cost_nothing_once_it_is_known(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, 0, 1)
    listener.onQueryProgress(progressed(0, OTHER))
    (tmp_path / FOLDER / "toy" / "state.json").write_bytes(b"damaged, which who reads it would say")
    listener.onQueryProgress(progressed(1, OTHER))
    assert told == []


def test_the_progress_of_another_query_in_the_same_ledger_is_not_told(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, 0, 1, query=OTHER)
    commit(tmp_path, 0)
    listener.onQueryProgress(progressed(1))
    assert told == []


def test_a_query_that_goes_on_with_another_sink_is_told_from_both_ledgers(
    listener: ProgressListener, told: list[int | None], tmp_path: Path
) -> None:
    commit(tmp_path, 0)
    listener.onQueryProgress(progressed(0))
    commit(tmp_path, 1, sink="another")
    listener.onQueryProgress(progressed(1))
    commit(tmp_path, 2, sink="another")
    listener.onQueryProgress(progressed(2))
    assert told == [0, 1, 2]


def test_what_the_listener_is_given_may_fail_and_the_next_batch_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = []

    def fail(progress: BatchProgress) -> None:
        told.append(progress.batch_id)
        raise KeyError("no such gauge")

    listener = ProgressListener(str(tmp_path), fail)
    commit(tmp_path, 0, 1)
    listener.onQueryProgress(progressed(0))
    listener.onQueryProgress(progressed(1))
    assert told == [0, 1]
    assert caplog.messages == [f"on_batch has failed for batch {each} of query {QUERY}" for each in (0, 1)]
    assert "KeyError: 'no such gauge'" in caplog.text


def test_a_damaged_ledger_is_a_warning_once_and_no_error(
    listener: ProgressListener, told: list[int | None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    commit(tmp_path, 0, 1, 2)
    damaged = tmp_path / FOLDER / "toy" / "progress" / "1.json"
    data = damaged.read_bytes()
    damaged.write_bytes(data[:-9])
    listener.onQueryProgress(progressed(0))
    for _ in range(2):
        listener.onQueryProgress(progressed(1))
    (message,) = caplog.messages
    assert message.startswith(f"what became of the batches of query {QUERY} cannot be told: {damaged} is damaged")
    damaged.write_bytes(data)
    listener.onQueryProgress(progressed(2))
    assert told == [0, 1, 2]


def test_an_event_that_is_none_of_sparks_is_a_warning_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("a client of an object store")

    listener = ProgressListener(str(tmp_path))
    monkeypatch.setattr(Ledger, "progress", broken)
    commit(tmp_path, 0)
    listener.onQueryProgress(progressed(0))
    assert caplog.messages == [f"what became of the batches of query {QUERY} cannot be told"]
    assert "a client of an object store" in caplog.text


def test_a_location_that_nothing_can_open_is_an_error_of_the_program_and_not_of_spark() -> None:
    with pytest.raises(LedgerUnavailableError, match="nonsense:"):
        ProgressListener("nonsense://x")


def test_by_default_a_line_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    commit(tmp_path, 3)
    with caplog.at_level(logging.INFO, "asyncsink.spark.listener"):
        ProgressListener(str(tmp_path)).onQueryProgress(progressed(3))
    assert caplog.record_tuples == [
        (
            "asyncsink.spark.listener",
            logging.INFO,
            "asyncsink.toy batch 3: 3 rows in, 3 stored, 0 dead-lettered, 0 dropped; 0 sent again, 0 throttled",
        )
    ]


def test_spark_makes_it_tell_each_batch_in_order_and_status_tells_the_same(
    spark: SparkSession,
    lines: Callable[[Sequence[Sequence[str]]], DataFrame],
    run_stream: Callable[..., None],
    toy_log: Callable[[], list[dict[str, Any]]],
    tmp_path: Path,
) -> None:
    told: Queue[BatchProgress] = Queue()
    listener = ProgressListener(str(tmp_path / "checkpoint"), told.put)
    stream = lines([["1", "2"], ["3"], ["4", "5", "6"]]).selectExpr("CAST(value AS BIGINT) AS id")
    spark.streams.addListener(listener)
    try:
        run_stream(stream, "asyncsink.toy", folder=str(tmp_path / "toy"))
        batches = [told.get(timeout=60) for _ in range(3)]
    finally:
        spark.streams.removeListener(listener)
    assert [(each.batch_id, each.rows_in, each.rows) for each in batches] == [(0, 2, 2), (1, 1, 1), (2, 3, 3)]
    assert sum(len(line.get("rows", [])) for line in toy_log()) == 6
    assert told.empty()
    found = status(str(tmp_path / "checkpoint"), 10)
    (sink,) = found.sinks
    assert (found.query_id, found.spark_batch_id, found.failed) == (batches[0].query_id, 2, False)
    assert (sink.query_id, sink.batch_id, sink.warning) == (found.query_id, 2, None)
    assert list(sink.last) == batches
