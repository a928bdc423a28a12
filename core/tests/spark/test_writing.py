"""Rows on their way from Spark to a server, in batch jobs and in streams, asked for by name only."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving

HTTP = "asyncsink.http"
DOORS = pytest.mark.parametrize(
    ("door", "options"), [(HTTP, {}), ("asyncsink", {"sink": "http"})], ids=["its own door", "the common door"]
)
Lines = Callable[[Sequence[Sequence[str]]], DataFrame]


def stored(server: FaultyHttpServer) -> list[Any]:
    """The rows of every stored request, in the order of arrival."""
    return [row for request in server.stored for row in json.loads(request.body)]


def keys(server: FaultyHttpServer) -> list[tuple[str, bytes]]:
    """Idempotency key and row of every request, each once, in order."""
    return sorted({(request.headers["idempotency-key"], request.body) for request in server.received})


@DOORS
def test_a_batch_job_stores_every_row_before_it_returns(
    door: str, options: dict[str, str], spark: SparkSession
) -> None:
    with serving() as server:
        rows = spark.range(0, 2500, 1, 2)
        # Neither count nor age sends anything: what is stored, the tasks have flushed.
        lazy: dict[str, Any] = {"maxBatchSize": 5000, "maxBufferedRequests": 9000, "maxTimeInBuffer": "1h"}
        rows.write.format(door).options(url=server.url, **lazy, **options).mode("append").save()
        assert sorted(row["id"] for row in stored(server)) == list(range(2500))
        assert len(server.received) == 2


@DOORS
def test_a_stream_stores_every_row_before_its_batch_is_committed(
    door: str, options: dict[str, str], lines: Lines, run_stream: Callable[..., None], tmp_path: Path
) -> None:
    commits = tmp_path / "checkpoint" / "commits"
    committed: list[tuple[int, int]] = []

    def note(request: HttpRequest) -> Reaction:
        done = sum(1 for each in commits.glob("*") if each.name.isdigit())
        committed.extend((row["batch"], done) for row in json.loads(request.body))
        return Reaction.OK

    with serving(note) as server:
        stream = lines([[f'{{"batch":{batch},"row":{row}}}' for row in range(3)] for batch in range(4)])
        run_stream(stream, door, url=server.url, maxTimeInBuffer="1h", **options)
        expected = [{"batch": batch, "row": row} for batch in range(4) for row in range(3)]
        assert stored(server) == expected
    # When a row of batch n arrived, exactly the n batches before it were committed.
    assert committed == [(row["batch"], row["batch"]) for row in expected]


def test_twenty_micro_batches_use_the_connections_of_one(lines: Lines, run_stream: Callable[..., None]) -> None:
    with serving() as server:
        stream = lines([[f"{batch}"] for batch in range(20)])
        run_stream(stream, HTTP, url=server.url, maxInFlightRequests=1)
        assert stored(server) == list(range(20))
        # Spark has two workers for its two cores and may use either for the one task of each micro-batch.
        assert server.connections <= 2


def test_a_client_is_made_once_in_each_worker(
    lines: Lines, run_stream: Callable[..., None], toy_log: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    stream = lines([[f"{batch}"] for batch in range(6)]).selectExpr("CAST(value AS BIGINT) id")
    run_stream(stream, "asyncsink.toy", folder=str(tmp_path / "toy"))
    made = Counter(line["connect"] for line in toy_log() if "connect" in line)
    assert set(made.values()) == {1}
    assert sum("rows" in line for line in toy_log()) == 6


def test_what_the_limiter_has_learned_outlives_its_micro_batch(lines: Lines, run_stream: Callable[..., None]) -> None:
    sizes: dict[int, list[int]] = {}

    def throttle_twice(request: HttpRequest) -> Reaction:
        # A worker keeps its connection, so what one connection brings is what one limiter has let go.
        of_worker = sizes.setdefault(request.connection, [])
        of_worker.append(len(json.loads(request.body)))
        return Reaction.throttle() if len(of_worker) <= 2 else Reaction.OK

    with serving(throttle_twice) as server:
        stream = lines([[f"{row}" for row in range(100)]] * 2)
        options = {"maxBatchSize": 100, "maxInFlightRequests": 1, "retry.initialBackoff": "1ms"}
        run_stream(stream, HTTP, url=server.url, **options)
        assert Counter(stored(server)) == dict.fromkeys(range(100), 2)
    # A new limiter would begin with 100. Spark may give the second micro-batch to another worker: then the ledger has
    # told it what the first one had learned, 55.
    one_worker, two_workers = [sizes_of_one_limiter(2)], [sizes_of_one_limiter(1), sizes_of_one_limiter(1, budget=55)]
    assert list(sizes.values()) in (one_worker, two_workers)


def sizes_of_one_limiter(batches: int, budget: int = 100) -> list[int]:
    """The requests of so many micro-batches of 100 rows: a throttle halves the budget, a stored request adds 10."""
    sizes: list[int] = []
    for _ in range(batches):
        left = 100
        while left:
            sizes.append(min(left, budget))
            stored = len(sizes) > 2
            left -= sizes[-1] if stored else 0
            budget = min(100, budget + 10) if stored else (budget + 1) // 2
    return sizes


def test_a_failed_task_is_repeated_and_its_rows_keep_their_ids(spark: SparkSession) -> None:
    refused = threading.Event()

    def refuse_once(request: HttpRequest) -> Reaction:
        if request.body == b'{"id":5}' and not refused.is_set():
            refused.set()
            return Reaction.refuse(401)
        return Reaction.OK

    with serving(refuse_once) as server:
        rows = spark.range(0, 10, 1, 2)
        rows.write.format(HTTP).options(url=server.url, body="single").mode("append").save()
        assert {request.body for request in server.stored} == {b'{"id":%d}' % row for row in range(10)}
        # The repeated task has sent its rows again, and each row's id is the same as before.
        assert len(keys(server)) == 10
        assert len({key for key, _ in keys(server)}) == 10
        tries = Counter(request.body for request in server.received)
        assert tries[b'{"id":5}'] == 2


def test_two_batch_jobs_never_share_an_id(spark: SparkSession) -> None:
    with serving() as server:
        for _ in range(2):
            rows = spark.range(0, 3, 1, 1)
            rows.write.format(HTTP).options(url=server.url, body="single").mode("append").save()
        assert len({request.headers["idempotency-key"] for request in server.received}) == 6


def test_jobs_of_one_micro_batch_never_share_an_id(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:

        def write_twice(rows: DataFrame, batch: int) -> None:
            for prefix in ("a", "b"):
                named = rows.selectExpr(f"concat('{prefix}', value) AS value")
                named.write.format(HTTP).options(url=server.url, body="single").mode("append").save()

        writer = lines([["1", "2"]]).writeStream.foreachBatch(write_twice).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
        assert {request.body for request in server.stored} == {b"a1", b"a2", b"b1", b"b2"}
        assert len({request.headers["idempotency-key"] for request in server.received}) == 4


def test_a_replayed_micro_batch_gives_its_rows_the_same_ids(lines: Lines, run_stream: Callable[..., None]) -> None:
    healthy = threading.Event()

    def refuse_row_7(request: HttpRequest) -> Reaction:
        return Reaction.refuse(400) if request.body == b"7" and not healthy.is_set() else Reaction.OK

    with serving(refuse_row_7) as server:
        stream = lines([[str(row) for row in range(5)], [str(row) for row in range(5, 10)]])
        with pytest.raises(PySparkException, match="RequestRejectedError"):
            run_stream(stream, HTTP, url=server.url, body="single")
        before = keys(server)
        healthy.set()
        run_stream(stream, HTTP, url=server.url, body="single")
        assert {request.body for request in server.stored} == {b"%d" % row for row in range(10)}
        assert len(keys(server)) == 10
        assert set(before) <= set(keys(server))
        query = {key.split("/")[0] for key, _ in keys(server)}
        assert len(query) == 1
        # Batch, partition and place; behind them is a digest of the row.
        assert {key.split("/", 1)[1].rpartition("/")[0]: row for key, row in keys(server)} == {
            f"{batch}/0/{row}": b"%d" % (5 * batch + row) for batch in range(2) for row in range(5)
        }


def test_empty_partitions_connect_to_nothing(
    spark: SparkSession, toy_log: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    rows = spark.range(0, 1, 1, 4)
    rows.write.format("asyncsink.toy").option("folder", str(tmp_path / "toy")).mode("append").save()
    assert [sorted(line) for line in toy_log()] == [["connect"], ["rows"]]


def test_large_strings_and_many_arrow_batches_arrive_whole(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        with serving() as server:
            rows = spark.range(0, 1000, 1, 1).selectExpr("id", "concat('é', id) name")
            rows.write.format(HTTP).options(url=server.url).mode("append").save()
            assert {row["id"]: row["name"] for row in stored(server)} == {row: f"é{row}" for row in range(1000)}
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_strings_that_spark_holds_and_python_cannot_arrive_repaired(spark: SparkSession) -> None:
    with serving() as server:
        rows = spark.range(0, 3, 1, 1).selectExpr(
            "id",
            "cast(X'61ff' AS STRING) text",
            "map('k', cast(X'ff' AS STRING)) tags",
            "'a' COLLATE UTF8_LCASE lower",
            "named_struct('a,b(c)', id) odd",
        )
        rows.write.format(HTTP).option("url", server.url).mode("append").save()
        expected = {"text": "a\ufffd", "tags": {"k": "\ufffd"}, "lower": "a"}
        assert stored(server) == [{"id": row, **expected, "odd": {"a,b(c)": row}} for row in range(3)]


def test_a_stream_stops_while_the_destination_hangs(lines: Lines, tmp_path: Path) -> None:
    arrived = threading.Event()

    def hang(request: HttpRequest) -> Reaction:
        arrived.set()
        return Reaction.hang()

    with serving(hang) as server:
        writer = lines([["1"]]).writeStream.format(HTTP).option("url", server.url)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        assert arrived.wait(30)
        query.stop()
        assert not query.isActive
        assert stored(server) == []
