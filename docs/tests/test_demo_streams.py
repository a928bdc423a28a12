"""The last line and exit status of the demo with clusters of Kafka say what became of the rows, whatever that is."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[1] / "demo"
LINES = [f"{row},2013,1,1,UA" for row in range(4)]


@pytest.fixture(autouse=True)
def _modules_of_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DEMO))


@dataclass
class Read:
    """Clusters that have been started again, and hold these values."""

    values: Iterable[str | None]
    topics: tuple[tuple[str, str], ...] = (("A", "flights"), ("A", "flights-large"), ("B", "flights"))
    is_started: bool = False

    def start_again(self) -> None:
        self.is_started = True

    def stored(self) -> Iterator[bytes | None]:
        assert self.is_started
        return (None if each is None else each.encode() for each in self.values)


def audited(values: Iterable[str | None], guarantee: str = "at-least-once") -> int:
    status = importlib.import_module("dynamic_kafka.demo").report(LINES, Read(values), guarantee, 12.3)
    assert isinstance(status, int)
    return status


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]


def test_rows_that_all_arrived_wherever_give_exit_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert audited(reversed(LINES)) == 0
    assert last_line(capsys) == (
        "rows sent 4, distinct rows received 4, missing 0, duplicates 0, clusters 2, seconds 12"
    )


def test_a_missing_row_gives_exit_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert audited(LINES[1:]) == 1
    assert "distinct rows received 3, missing 1, duplicates 0" in last_line(capsys)


@pytest.mark.parametrize(("guarantee", "status"), [("at-least-once", 0), ("exactly-once", 1)])
def test_a_row_that_arrived_twice_is_an_error_only_where_it_must_not(
    guarantee: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audited([*LINES, LINES[0]], guarantee) == status
    assert "missing 0, duplicates 1" in last_line(capsys)


@pytest.mark.parametrize("changed", ["0,2013,1,1,AA", "4,2013,1,1,UA", "x", "", None])
def test_a_row_that_arrived_changed_is_missing(changed: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert audited([changed, *LINES[1:]]) == 1
    printed = capsys.readouterr().out
    assert "1 received rows differ from the source" in printed
    assert "distinct rows received 3, missing 1, duplicates 0" in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["--sink", "dynamic-kafka", "--fail-at", "5"],
        ["--guarantee", "exactly-once"],
        ["--metadata-service", "http"],
        ["--sink", "parrot"],
    ],
)
def test_arguments_of_the_other_sink_are_refused(arguments: list[str]) -> None:
    main = runpy.run_path(str(DEMO / "__main__.py"))["main"]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_every_act_has_a_micro_batch() -> None:
    flights, acts = (importlib.import_module(each) for each in ("flights", "dynamic_kafka.acts"))
    assert all(1 <= batch <= flights.FILES for batch in acts.ACTS)
