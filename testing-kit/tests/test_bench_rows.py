from __future__ import annotations

import anyio
import pytest

from asyncsink_testing.bench_rows import Recorded, Took, tell, timed


def test_the_first_run_warms_up_and_does_not_count() -> None:
    took = iter([Took(100.0, 100.0), Took(2.0, 1.0), Took(4.0, 3.0)])
    run = Recorded(lambda: next(took))
    assert [run() for _ in range(3)] == [100.0, 2.0, 4.0]
    assert run.speeds(8000) == [4.0, 2.0]
    assert run.costs(1000) == [1e6, 3e6]


def test_what_is_timed_is_fed_once_before() -> None:
    fed: list[int] = []

    async def feed(batches: int) -> None:
        fed.append(batches)

    took = anyio.run(timed, feed, 5)
    assert fed == [1, 5]
    assert took.seconds >= 0
    assert took.processor_s >= 0


def test_a_line_has_the_median_the_least_and_the_most(capsys: pytest.CaptureFixture[str]) -> None:
    tell("work", [1.0, 3.0, 2.0], [10.0, 30.0, 20.0])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown == "work 2 thousand rows/s (1 to 3), 20 ns of processor time a row (10 to 30)"
