from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asyncsink_testing.bench import Comparison, arguments, compare, interleave, report

KEYS = {"work", "ours", "peer", "unit", "peer_value", "ratio", "goal"}


def comparison(*, ratio: float = 2.0, goal: float | None = 1.0) -> Comparison:
    return Comparison(
        work="send",
        ours=5.0,
        peer="peer 1.0",
        unit="ns",
        peer_value=10.0,
        ratio=ratio,
        goal=goal,
        spread=(ratio, ratio),
    )


def named_run(name: str, called: list[str]) -> Callable[[], float]:
    def run() -> float:
        called.append(name)
        return float(len(called))

    return run


def test_every_variant_runs_once_a_round_in_an_order_that_rotates() -> None:
    called: list[str] = []
    interleave({name: named_run(name, called) for name in "abc"}, rounds=2)
    assert "".join(called) == "abcbcacab"


def test_the_round_that_warms_up_does_not_count() -> None:
    called: list[str] = []
    figures = interleave({name: named_run(name, called) for name in "ab"}, rounds=2)
    assert figures == {"a": [4.0, 5.0], "b": [3.0, 6.0]}


def test_the_ratio_is_the_median_of_the_rounds_own_ratios_not_that_of_the_medians() -> None:
    compared = compare("send", [1.0, 10.0, 4.0], "peer", [3.0, 20.0, 4.0], unit="ns")
    assert (compared.ours, compared.peer_value, compared.ratio) == (4.0, 4.0, 2.0)


def test_the_spread_is_that_of_the_quartiles_so_that_one_bad_round_does_not_widen_it() -> None:
    compared = compare("send", [1.0] * 5, "peer", [2.0, 3.0, 4.0, 5.0, 100.0], unit="ns")
    assert (compared.ratio, compared.spread) == (4.0, (3.0, 5.0))
    assert compare("send", [1.0], "peer", [2.0], unit="ns").spread == (2.0, 2.0)


@pytest.mark.parametrize(("lower_is_better", "ratio"), [(True, 2.0), (False, 0.5)])
def test_a_ratio_above_one_means_that_ours_is_better(lower_is_better: bool, ratio: float) -> None:
    compared = compare("send", [5.0], "peer", [10.0], unit="ns", lower_is_better=lower_is_better)
    assert compared.ratio == ratio


def test_figures_of_different_rounds_are_not_compared() -> None:
    with pytest.raises(ValueError, match="zip"):
        compare("send", [1.0, 2.0], "peer", [1.0], unit="ns")


def test_the_json_file_holds_a_list_with_exactly_the_agreed_keys(tmp_path: Path) -> None:
    report([comparison(), comparison(goal=None)], tmp_path / "figures.json")
    written = json.loads((tmp_path / "figures.json").read_text())
    assert [set(each) for each in written] == [KEYS, KEYS]
    assert written[0] == {
        "work": "send",
        "ours": 5.0,
        "peer": "peer 1.0",
        "unit": "ns",
        "peer_value": 10.0,
        "ratio": 2.0,
        "goal": 1.0,
    }
    assert written[1]["goal"] is None


@pytest.mark.parametrize(
    ("ratio", "goal", "said"),
    [(1.0, 1.0, "goal 1: met"), (0.99, 1.0, "goal 1: MISSED"), (0.1, None, "ratio 0.100 (0.100 to 0.100)\n")],
)
def test_the_table_says_whether_a_goal_is_met(
    ratio: float, goal: float | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report([comparison(ratio=ratio, goal=goal)])
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("most_above", "verdict"), [(30.0, "met"), (19.0, "MISSED")])
def test_a_goal_may_be_a_difference_in_the_figures_own_unit(
    most_above: float, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The median of the rounds' own differences; that of the medians is 10.
    compared = compare("commit", [120.0, 100.0, 150.0], "peer", [100.0, 110.0, 120.0], unit="ms", most_above=most_above)
    report([compared], tmp_path / "figures.json")
    assert f"+20.0 ms, goal at most +{most_above:.0f}: {verdict}\n" in capsys.readouterr().out
    [written] = json.loads((tmp_path / "figures.json").read_text())
    assert set(written) == KEYS | {"difference", "most_above"}
    assert (written["difference"], written["most_above"], written["goal"]) == (20.0, most_above, None)


def test_every_benchmark_takes_a_json_file_and_a_number_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--json", "out.json"])
    options = arguments("times something", rounds=7)
    assert (options.json, options.rounds) == (Path("out.json"), 7)
    monkeypatch.setattr(sys, "argv", ["bench", "--rounds", "2"])
    options = arguments("times something", rounds=7)
    assert (options.json, options.rounds) == (None, 2)
