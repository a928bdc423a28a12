from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.metrics import Counter, Gauge, Histogram, HistogramStatistics, ObservedCounter, ObservedHistogram


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Threads take turns so often that a step which is not atomic shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_counter_counts_by_one_or_by_a_number() -> None:
    counter = Counter()
    assert counter.count == 0
    counter.inc()
    counter.inc(41)
    assert counter.count == 42


def test_a_counter_loses_nothing_when_many_threads_increase_it(eager_switching: None) -> None:
    counter = Counter()

    def count() -> None:
        for _ in range(5_000):
            counter.inc()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count == 20_000


def test_an_observed_counter_shows_what_is_counted_elsewhere_and_is_not_increased_itself() -> None:
    counts = [3]
    counter = ObservedCounter(lambda: counts[0])
    counts[0] = 4
    assert counter.count == 4
    with pytest.raises(TypeError, match="increased where it is kept"):
        counter.inc()


def test_an_observed_histogram_shows_what_is_kept_elsewhere_and_is_not_updated_itself() -> None:
    kept = HistogramStatistics(9, (1.0, 2.0))
    histogram = ObservedHistogram(lambda: kept)
    assert (histogram.count, histogram.statistics) == (9, kept)
    with pytest.raises(TypeError, match="updated where it is kept"):
        histogram.update(1.0)


def test_a_gauge_reads_its_value_each_time_it_is_asked() -> None:
    values = iter([1, 2])
    gauge = Gauge(lambda: next(values))
    assert (gauge.value, gauge.value) == (1, 2)


def test_a_histogram_without_values_knows_nothing() -> None:
    seen = Histogram().statistics
    assert seen == HistogramStatistics()
    assert (seen.count, seen.min, seen.max, seen.mean, seen.quantile(0.5)) == (0, None, None, None, None)


def test_a_histogram_keeps_the_latest_values_and_counts_all() -> None:
    histogram = Histogram(size=4)
    for value in (100.0, 50.0, 4.0, 1.0, 3.0, 2.0):
        histogram.update(value)
    seen = histogram.statistics
    assert (histogram.count, seen.count, seen.values) == (6, 6, (1.0, 2.0, 3.0, 4.0))
    assert (seen.min, seen.max, seen.mean) == (1.0, 4.0, 2.5)
    assert [seen.quantile(share) for share in (0, 0.25, 0.26, 0.5, 0.99, 1)] == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50),
    share=st.floats(min_value=0, max_value=1),
)
def test_a_quantile_is_a_measured_value_that_such_a_share_of_all_do_not_exceed(
    values: list[float], share: float
) -> None:
    histogram = Histogram()
    for value in values:
        histogram.update(value)
    quantile = histogram.statistics.quantile(share)
    assert quantile in values
    assert sum(each <= quantile for each in values) >= share * len(values)


@pytest.mark.parametrize("share", [-0.01, 1.01, 99.0, float("nan")])
def test_a_quantile_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="must be a share from 0 to 1"):
        HistogramStatistics(1, (1.0,)).quantile(share)


def test_statistics_are_frozen_short_to_print_and_can_be_pickled() -> None:
    histogram = Histogram()
    histogram.update(0.5)
    seen = histogram.statistics
    with pytest.raises(FrozenInstanceError):
        seen.count = 7  # type: ignore[misc]
    histogram.update(0.7)
    assert (seen.count, seen.values) == (1, (0.5,))
    assert pickle.loads(pickle.dumps(seen)) == seen
    assert repr(seen) == "HistogramStatistics(count=1)"


def test_a_histogram_can_be_read_while_another_thread_updates_it(eager_switching: None) -> None:
    histogram, stop = Histogram(size=100), threading.Event()
    errors: list[Exception] = []
    read: list[HistogramStatistics] = []

    def keep_reading() -> None:
        try:
            while not stop.is_set():
                read.append(histogram.statistics)
        except Exception as error:
            errors.append(error)

    reader = threading.Thread(target=keep_reading)
    reader.start()
    for value in range(20_000):
        histogram.update(float(value))
    stop.set()
    reader.join()
    assert errors == []
    assert [each.count for each in read] == sorted(each.count for each in read)
    assert histogram.statistics.values == tuple(float(value) for value in range(19_900, 20_000))
