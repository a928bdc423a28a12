"""Ids: one pool for each partition and run, and nobody's but this sink's taken for dead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.transactions import Transaction
from asyncsink_kafka.transactions.naming import PLACES, RUNS, TransactionalId, is_over, pool

SINK = "0123456789abcdef"


def of_run(run: int, sink_id: str = SINK) -> Transaction:
    return Transaction(sink_id, 7, run)


def test_a_pool_begins_elsewhere_for_each_attempt_and_holds_the_same_ids() -> None:
    first, second = pool("orders", of_run(0), 3, 0), pool("orders", of_run(0), 3, 1)
    assert first[0] == f"orders-{SINK}-0-3-0"
    assert second[0] == first[1]
    assert len(first) == PLACES
    assert sorted(first) == sorted(second)


def test_runs_and_partitions_have_pools_of_their_own() -> None:
    pools = [pool("orders", of_run(run), partition, 0) for run in range(RUNS) for partition in range(12)]
    assert len({each for ids in pools for each in ids}) == RUNS * 12 * PLACES
    assert pool("orders", of_run(RUNS + 2), 0, 5) == pool("orders", of_run(2), 0, 5)


@given(st.integers(0, 100), st.integers(0, 5))
def test_what_is_of_this_run_or_one_before_is_over_and_what_a_successor_writes_is_not(run: int, later: int) -> None:
    ids = pool("orders", of_run(run + later), 1, 0)
    assert {is_over(each, "orders", of_run(run)) for each in ids} == {later not in (1, 2)}


@given(st.integers(0, RUNS - 3), st.integers(2, 100))
def test_so_is_what_is_of_a_run_long_before_it(back: int, run: int) -> None:
    (first, *_) = pool("orders", of_run(max(run - back, 0)), 1, 0)
    assert is_over(first, "orders", of_run(run))


@pytest.mark.parametrize(
    "text",
    [
        "orders",
        f"orders-{SINK}",
        f"orders-{SINK}-0-0",
        f"orders-{SINK}-0-0-x",
        f"orders-{SINK[:-1]}-0-0-0",
        f"orders-{'f' * 16}-0-0-0",
        f"others-{SINK}-0-0-0",
        f"my-orders-{SINK}-0-0-0",
        f"orders-{SINK}-0-0-0-0",
    ],
)
def test_what_is_of_others_is_never_over(text: str) -> None:
    assert not is_over(text, "orders", of_run(0))


@given(st.text(min_size=1), st.integers(0, 9), st.integers(0, 999), st.integers(0, 7))
def test_ids_are_read_as_they_are_written(prefix: str, run: int, partition: int, place: int) -> None:
    written = TransactionalId(f"{prefix}-{SINK}", run, partition, place)
    assert TransactionalId.parsed(str(written)) == written
