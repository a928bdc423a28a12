"""What is measured of a run, on recordings that are written by hand."""

from __future__ import annotations

from math import inf, isnan
from pathlib import Path

import pytest

from asyncsink_testing.capacity import CapacityChange, CapacityModel

from .comparison import Result
from .figures import figures, jain, missed
from .page import page
from .run import Recording
from .scenario import Scenario, load
from .table import markdown, text

STEADY = CapacityModel(records_per_s=1000, hint_step_s=0.0)


def scenario(model: CapacityModel = STEADY, *, writers: int = 1, held_out: bool = False) -> Scenario:
    return Scenario(
        name="by-hand", held_out=held_out, title="by <hand>", destination=model, writers=writers, duration_s=40
    )


def recording(*, taken: int = 100, refused: int = 0, writers: int = 1) -> Recording:
    made = Recording(400, writers)
    for step in range(400):
        for writer in range(writers):
            made.add(step, writer, taken + refused, taken)
        made.limits.append(taken)
    return made


def test_shares_count_after_the_warm_up_only() -> None:
    made = recording(taken=90, refused=10)
    for step in range(100):
        made.taken[step] = 0
    found = figures(scenario(), made)
    assert found.accepted == pytest.approx(0.9)
    assert found.throttled == pytest.approx(0.1)
    assert found.start_throttled == pytest.approx(1.0)
    assert found.start_s == pytest.approx(11.0)
    assert isnan(found.fairness)
    assert isnan(found.back_s)


def test_jains_index_is_one_for_even_shares_and_one_nth_where_one_takes_all() -> None:
    assert jain([5, 5, 5, 5]) == pytest.approx(1.0)
    assert jain([20, 0, 0, 0]) == pytest.approx(0.25)
    assert figures(scenario(writers=2), recording(taken=50, writers=2)).fairness == pytest.approx(1.0)


def test_growth_of_capacity_asks_how_long_until_ninety_percent() -> None:
    model = CapacityModel(records_per_s=1000, changes=(CapacityChange(20, 2.0),))
    made = recording()
    assert figures(scenario(model), made).back_s == inf
    for step in range(230, 400):
        made.taken[step] = 200
    assert figures(scenario(model), made).back_s == pytest.approx(3.8)
    assert figures(scenario(model), made).accepted == pytest.approx(1.0), "5 s after the change are left out"


def test_a_fall_of_capacity_asks_for_the_lowest_second() -> None:
    model = CapacityModel(records_per_s=1000, changes=(CapacityChange(20, 0.5),))
    made = recording(taken=50)
    for step in range(250, 255):
        made.taken[step] = 10
    assert figures(scenario(model), made).lowest == pytest.approx(0.6)


def test_what_misses_its_target_is_named_and_hints_halve_what_may_be_throttled() -> None:
    unhinted = scenario(CapacityModel(records_per_s=1000))
    found = figures(unhinted, recording(taken=100, refused=1))
    assert missed(unhinted, found) == []
    assert missed(scenario(), figures(scenario(), recording(taken=90, refused=2))) == ["accepted", "throttled"]
    assert missed(unhinted, figures(unhinted, recording(taken=100, refused=3))) == ["throttled"]


def test_tables_and_page_mark_what_misses_and_say_which_set_it_is_of() -> None:
    good, bad = recording(), recording(taken=90)
    results = [
        Result(scenario(held_out=True), name, made, figures(scenario(), made))
        for name, made in (("good", good), ("bad", bad))
    ]
    assert "90.0% !" in text(results)
    assert "good: every figure met in 0 of 0 (training), 1 of 1 (held out)" in text(results)
    assert "**90.0%**" in markdown(results)
    assert "(held out)" in markdown(results)
    html = page(results)
    assert html.count("<svg") == 4
    assert '<td class="missed">90.0%</td>' in html
    assert "by &lt;hand&gt; (held out)" in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", ""), "the page loads nothing"


def test_a_figure_outside_of_its_expected_range_is_a_sentence() -> None:
    expecting = Scenario(
        name="x", held_out=False, title="", destination=STEADY, duration_s=40,
        expected={"aimd": {"accepted": (0.95, 1.1), "throttled": (0.0, 0.1)}},
    )  # fmt: skip
    made = recording(taken=90)
    assert Result(expecting, "aimd", made, figures(expecting, made)).unexpected == [
        "x: accepted of aimd = 0.9, not 0.95 to 1.1"
    ]
    assert Result(expecting, "flink", made, figures(expecting, made)).unexpected == []


def test_a_scenario_file_with_an_unknown_word_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text('title = "x"\nwriter_count = 3\n[destination]\nrecords_per_s = 1\n')
    with pytest.raises(TypeError, match="writer_count"):
        load(file)
