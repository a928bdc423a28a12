"""What the ledger is good for: streams that are replayed, rewound, copied or changed, and jobs in a row."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from asyncsink.ledger import FOLDER, BatchProgress, Ledger, LedgerState, open_store

Lines = Callable[[Sequence[Sequence[str]]], DataFrame]
Log = Callable[[], list[dict[str, Any]]]
TOY = "asyncsink.toy"
MANY = [f"{row}" for row in range(20_000)]
WIDE = ("CAST(value AS BIGINT) AS id", "repeat('x', 500) AS text")
"""Of many rows far more than the pipe holds between Spark and a task."""


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    return {"folder": str(tmp_path / "toy")}


@pytest.fixture
def three(lines: Lines) -> DataFrame:
    """Three micro-batches of two rows."""
    return lines([["0", "1"], ["2", "3"], ["4", "5"]]).selectExpr("CAST(value AS BIGINT) AS id")


def ids(log: list[dict[str, Any]]) -> list[int]:
    return sorted(int(row.rpartition("=")[2]) for line in log for row in line.get("rows", ()))


def ledger_at(location: Path, sink: str = "toy") -> Ledger:
    return Ledger(open_store(str(location)).within(FOLDER).within(sink))


def query_id(checkpoint: Path) -> str:
    return str(json.loads((checkpoint / "metadata").read_text())["id"])


def forget(checkpoint: Path, folder: str, batches: Sequence[int]) -> None:
    """Remove what Spark keeps of some batches, with the check sums that lie beside its files."""
    for batch in batches:
        for name in (f"{batch}", f".{batch}.crc"):
            (checkpoint / folder / name).unlink(missing_ok=True)


def test_a_stream_keeps_the_last_batch_and_what_became_of_each(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    run_stream(three, TOY, **options)
    checkpoint = tmp_path / "checkpoint"
    ledger = ledger_at(checkpoint)
    state = ledger.read()
    assert state is not None
    assert (state.query_id, state.batch_id, state.writers) == (query_id(checkpoint), 2, 1)
    assert ledger.batches() == [0, 1, 2]
    told = [ledger.progress(batch) for batch in ledger.batches()]
    assert [(each.rows_in, each.rows, each.requests, each.query_id) for each in told if each] == [
        (2, 2, 1, query_id(checkpoint))
    ] * 3
    assert all(isinstance(each, BatchProgress) and each.is_whole and each.request_p50_s for each in told)
    assert list(state.learned) == [f"{next(iter(state.learned)).partition('/')[0]}/None"]


def test_a_batch_that_only_spark_has_not_noted_is_not_sent_again(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    run_stream(three, TOY, **options)
    # As after a kill between the sink's commit and Spark's own.
    forget(tmp_path / "checkpoint", "commits", [2])
    run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]
    state = ledger_at(tmp_path / "checkpoint").read()
    assert state is not None
    assert state.batch_id == 2


def test_a_rewound_checkpoint_is_an_error_that_names_both_batches(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    run_stream(three, TOY, **options)
    for folder in ("commits", "offsets"):
        forget(tmp_path / "checkpoint", folder, [1, 2])
    with pytest.raises(StreamingQueryException, match=r"asks for batch 1, but the ledger .* batch 2 was committed"):
        run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]
    shutil.rmtree(tmp_path / "checkpoint" / FOLDER)
    run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_another_batch_by_the_number_of_the_last_is_an_error_and_none_of_its_rows_is_lost(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    run_stream(three, TOY, **options)
    for folder in ("commits", "offsets"):
        forget(tmp_path / "checkpoint", folder, [2])
    (tmp_path / "lines" / "003.txt").write_text("6\n7\n")
    # What Spark plans as batch 2 now holds the new file too. It stays an error, however often the query is started.
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=r"over 4 rows as batch 2, but .* was committed with 2: anot"):
            run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]
    shutil.rmtree(tmp_path / "checkpoint" / FOLDER)
    run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 4, 5, 5, 6, 7]


def test_another_batch_of_as_many_rows_is_known_by_the_time_at_which_spark_planned_it(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    run_stream(three, TOY, **options)
    for folder in ("commits", "offsets", "sources/0"):
        forget(tmp_path / "checkpoint", folder, [2])
    (tmp_path / "lines" / "002.txt").unlink()
    (tmp_path / "lines" / "003.txt").write_text("6\n7\n")
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=r"has planned batch 2 after the ledger .* had noted its end"):
            run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]


def test_a_repeated_batch_is_read_to_its_end_and_not_sent(
    lines: Lines, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    rows, count = lines([MANY]).selectExpr(*WIDE), len(MANY)
    read = tmp_path / "read"
    read.mkdir()

    def note(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            (read / f"{uuid4().hex}-{batch.num_rows}").touch()
            yield batch

    noted = rows.mapInArrow(note, rows.schema)
    for _ in range(2):
        run_stream(noted, TOY, **options)
        forget(tmp_path / "checkpoint", "commits", [0])
    assert sum(int(each.name.partition("-")[2]) for each in read.iterdir()) == 2 * count
    assert ids(toy_log()) == [*range(count)]


def test_the_state_of_sparks_operators_outlives_a_repeated_batch(
    spark: SparkSession,
    lines: Lines,
    run_stream: Callable[..., None],
    toy_log: Log,
    options: dict[str, str],
    tmp_path: Path,
) -> None:
    settings = {
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        rows = lines([["0", "1"], MANY]).selectExpr(*WIDE).dropDuplicates(["id"]).coalesce(1)
        run_stream(rows, TOY, **options)
        forget(tmp_path / "checkpoint", "commits", [1])
        (tmp_path / "lines" / "002.txt").write_text(f"0\n{MANY[-1]}\n{len(MANY)}\n")
        run_stream(rows, TOY, **options)
    finally:
        for name in settings:
            spark.conf.unset(name)
    assert ids(toy_log()) == [*range(len(MANY) + 1)]


def test_the_ledger_of_another_query_is_an_error_that_names_both(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    elsewhere = {"ledgerLocation": str(tmp_path / "shared")}
    run_stream(three, TOY, **options, **elsewhere)
    owner = query_id(tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException, match=rf"is that of query {owner}, but this is query .*; give each"):
        run_stream(three, TOY, checkpoint="other", **options, **elsewhere)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]
    assert not (tmp_path / "checkpoint" / FOLDER).exists()


def test_a_damaged_ledger_stops_the_query_before_a_row_is_sent(
    three: DataFrame, run_stream: Callable[..., None], toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    run_stream(three, TOY, **options)
    (tmp_path / "checkpoint" / FOLDER / "toy" / "state.json").write_text("{")
    forget(tmp_path / "checkpoint", "commits", [2])
    with pytest.raises(StreamingQueryException, match=r"state.json is damaged \(.*\); restore it, or remove it"):
        run_stream(three, TOY, **options)
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]


def test_a_stream_goes_on_without_a_ledger_where_there_can_be_none(
    spark: SparkSession, three: DataFrame, toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "default"))
    try:
        query = three.writeStream.format(TOY).options(**options).trigger(availableNow=True).start()
        query.awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert ids(toy_log()) == [0, 1, 2, 3, 4, 5]
    assert not [*(tmp_path / "default").rglob("state.json")]


@pytest.mark.parametrize("before", [4, 1])
def test_each_state_of_a_writer_is_handed_on_once_with_any_number_of_partitions(
    lines: Lines, run_stream: Callable[..., None], tmp_path: Path, before: int
) -> None:
    rows = [[f"{row}" for row in range(8)]] * 2
    stream, folder = lines(rows), tmp_path / "counting"
    folder.mkdir()
    run_stream(stream.repartition(before), "asyncsink.counting", folder=str(folder))
    left = ledger_at(tmp_path / "checkpoint", "counting").read()
    assert left is not None
    assert sum(int(data) for kept in left.writer_states.values() for _, data in kept) == 16
    # Another run of the query, with what came meanwhile and as many partitions as there were not before.
    for number in (2, 3):
        (tmp_path / "lines" / f"{number:03}.txt").write_text("".join(f"{row}\n" for row in range(8)))
    run_stream(stream.repartition(5 - before), "asyncsink.counting", folder=str(folder))
    after = ledger_at(tmp_path / "checkpoint", "counting").read()
    assert after is not None
    counts = [int(data) for kept in after.writer_states.values() for _, data in kept]
    assert sum(counts) == 32
    if before == 4:
        # The last batch had one writer, which has taken over what the batch before had found no successor for.
        assert counts == [32]


def test_batch_jobs_with_a_place_for_their_state_follow_each_other(
    spark: SparkSession, toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "state"
    for _ in range(2):
        writer = spark.range(4).coalesce(1).write.format(TOY).options(**options)
        writer.option("stateLocation", str(place)).mode("append").save()
    ledger = ledger_at(place)
    state = ledger.read()
    assert state is not None
    assert (state.query_id, state.batch_id, list(state.learned) != []) == (None, 1, True)
    assert [(told.rows, told.query_id) for batch in ledger.batches() if (told := ledger.progress(batch))] == [
        (4, None)
    ] * 2


def test_a_ledger_of_a_newer_release_is_an_error_of_a_batch_job_too(
    spark: SparkSession, toy_log: Log, options: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "state" / FOLDER / "toy" / "state.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(LedgerState().to_bytes().replace(b'"version":1', b'"version":7'))
    job = spark.range(4).write.format(TOY).options(**options).option("stateLocation", str(tmp_path / "state"))
    with pytest.raises(Exception, match="has version 7, this release reads up to 1"):
        job.mode("append").save()
    assert ids(toy_log()) == []
