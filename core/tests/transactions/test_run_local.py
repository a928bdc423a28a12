"""run_local: exactly once, wherever a run is killed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asyncsink.local_run
from asyncsink import CommitError, CommitTimedOutError, ConfigurationError, InitContext, LocalRun, run_local
from asyncsink_testing.killing import Killed, Points, WatchedStore
from asyncsink_testing.staged_sink import Staged, StagedSink, StagedWriter, StagingArea, Unstaged

ELEMENTS = [f"element {number}" for number in range(10)]


def run(sink: StagedSink, folder: Path, elements: list[str] = ELEMENTS, every: int | None = None) -> LocalRun:
    async def main() -> LocalRun:
        return await run_local(sink, elements, folder, checkpoint_every=every, commit_timeout_s=5.0)

    return anyio.run(main)


@pytest.mark.parametrize("publishes", [False, True])
@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("every", [None, 1, 3, 10, 50])
def test_all_that_is_written_is_committed_once(
    tmp_path: Path, commits: bool, publishes: bool, every: int | None
) -> None:
    area = StagingArea()
    sink = StagedSink(area, commits=commits, publishes=publishes, keeps=1)
    assert run(sink, tmp_path, every=every).position == len(ELEMENTS)
    assert area.visible == ([] if publishes and not commits else ELEMENTS)
    assert area.published == (ELEMENTS if publishes else [])
    assert area.staged == {}


def test_the_end_of_input_is_said_once(tmp_path: Path) -> None:
    area = StagingArea()
    run(StagedSink(area, publishes=True), tmp_path, every=3)
    assert area.events.count("end_of_input") == 1
    assert area.events.index("end_of_input") > area.events.index("publish")


def test_a_second_run_writes_only_what_follows(tmp_path: Path) -> None:
    area = StagingArea()
    sink = StagedSink(area)
    run(sink, tmp_path, ELEMENTS[:4])
    assert run(sink, tmp_path).position == len(ELEMENTS)
    assert run(sink, tmp_path) == LocalRun(position=len(ELEMENTS), commits=1, recovered=False)
    assert area.visible == ELEMENTS


def test_an_asynchronous_source_may_be_written(tmp_path: Path) -> None:
    async def source() -> AsyncIterator[str]:
        for element in ELEMENTS:
            yield element

    area = StagingArea()
    anyio.run(run_local, StagedSink(area), source(), tmp_path)
    assert area.visible == ELEMENTS


KINDS = [(True, False), (False, True), (True, True)]


@dataclass
class Trial:
    """A folder and a destination, with runs that may be killed."""

    folder: Path
    commits: bool
    publishes: bool
    area: StagingArea = field(default_factory=StagingArea)

    def attempt(self, kill_at: int | None = None) -> int:
        """Run until the end, or until the point at which it is killed; the number of points it came to."""
        points = self.area.meet = Points(kill_at)
        sink = StagedSink(self.area, commits=self.commits, publishes=self.publishes, keeps=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncsink.local_run, "open_store", lambda _: WatchedStore.at(self.folder, points))
            with suppress(Killed):
                run(sink, self.folder, every=4)
        return len(points.passed)

    def check(self) -> None:
        """See that all elements are committed, each once, and nothing else is left."""
        assert (self.area.published if self.publishes else self.area.visible) == ELEMENTS
        assert self.area.staged == {}


@pytest.mark.parametrize(("commits", "publishes"), KINDS)
def test_a_run_that_is_killed_at_any_point_is_finished_by_the_next(
    tmp_path: Path, commits: bool, publishes: bool
) -> None:
    points = Trial(tmp_path / "whole", commits, publishes).attempt()
    assert points > 30
    for kill_at in range(points):
        trial = Trial(tmp_path / str(kill_at), commits, publishes)
        assert trial.attempt(kill_at) == kill_at
        trial.attempt()
        trial.check()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.integers(0, 60), min_size=2, max_size=4))
def test_so_is_one_whose_successors_are_killed_too(
    tmp_path_factory: pytest.TempPathFactory, kind: tuple[bool, bool], kills: list[int]
) -> None:
    trial = Trial(tmp_path_factory.mktemp("run"), *kind)
    for kill_at in kills:
        trial.attempt(kill_at)
    trial.attempt()
    trial.check()


def test_what_a_writer_prepared_before_it_failed_is_given_up(tmp_path: Path) -> None:
    area = StagingArea()

    def fail(what: str) -> None:
        if what.startswith("stage"):
            raise OSError("no room")

    area.meet = fail
    with pytest.raises(OSError, match="no room"):
        run(StagedSink(area), tmp_path)
    area.meet = lambda _: None
    assert run(StagedSink(area), tmp_path).recovered is False
    assert area.visible == ELEMENTS


def test_a_run_that_fails_in_its_midst_leaves_nothing_for_the_event_loop_to_tidy_up(tmp_path: Path) -> None:
    area = StagingArea()

    def fail(what: str) -> None:
        raise OSError("no room")

    area.meet = fail
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(OSError, match="no room"):
            anyio.run(partial(run_local, StagedSink(area), ELEMENTS, tmp_path, checkpoint_every=2), backend="trio")
        gc.collect()
    assert [str(each.message) for each in told] == []


def test_what_a_committer_puts_off_is_committed_again(tmp_path: Path) -> None:
    area = StagingArea()
    area.postponed = PutOff(times=2)
    run(StagedSink(area), tmp_path)
    assert area.visible == ELEMENTS
    assert area.events.count("commit") == 3


def test_a_commit_that_takes_too_long_stays_prepared_and_is_done_by_the_next_run(tmp_path: Path) -> None:
    area = StagingArea()
    area.postponed = PutOff(times=1_000)
    with pytest.raises(CommitTimedOutError, match=r"1 of 1 committables of batch 1 .* within 0.2 s .*commitTimeout"):
        anyio.run(partial(run_local, StagedSink(area), ELEMENTS, tmp_path, commit_timeout_s=0.2))
    assert area.visible == []
    area.postponed = {}
    assert run(StagedSink(area), tmp_path) == LocalRun(position=len(ELEMENTS), commits=1, recovered=True)
    assert area.visible == ELEMENTS


def test_a_batch_that_the_destination_has_lost_as_a_whole_is_written_again(tmp_path: Path) -> None:
    trial = Trial(tmp_path, commits=True, publishes=False)
    trial.attempt(kill_at=_first_point(tmp_path, "commit "))
    assert trial.area.staged
    trial.area.lose()
    trial.attempt()
    trial.check()


def test_a_run_whose_batch_is_lost_says_so_and_the_next_writes_it_again(tmp_path: Path) -> None:
    area = StagingArea()

    def lose(what: str) -> None:
        if what.startswith("commit "):
            area.lose()

    area.meet = lose
    with pytest.raises(CommitError, match=r"has lost 1 of 1 committables of batch 1 .*start the job again"):
        run(StagedSink(area), tmp_path)
    area.meet = lambda _: None
    run(StagedSink(area), tmp_path)
    assert area.visible == ELEMENTS


def test_a_batch_of_which_a_part_is_lost_is_refused_until_somebody_decides(tmp_path: Path) -> None:
    area = StagingArea()
    sink = Doubled(area)

    def lose(what: str) -> None:
        if what.startswith("commit ") and area.committed:
            area.lose()

    area.meet = lose
    for _ in range(2):
        with pytest.raises(CommitError, match="has lost 1 of 2 committables of batch 1") as caught:
            run(sink, tmp_path)
    assert "remove slot-1" in str(caught.value)
    area.meet = lambda _: None
    (tmp_path / "transactions" / "done-1").write_bytes((tmp_path / "transactions" / "begin-1").read_bytes())
    run(sink, tmp_path)
    assert area.visible == ELEMENTS[:5]


class Doubled(StagedSink):
    """Its writer stages two halves."""

    def create_writer(self, context: InitContext, states: Sequence[Unstaged] = ()) -> StagedWriter:
        return _Doubled(self, context, states)


class _Doubled(StagedWriter):
    async def prepare_commit(self, flush: bool) -> list[Staged]:
        elements, staged = self._elements, list[Staged]()
        for half in (elements[: len(elements) // 2], elements[len(elements) // 2 :]):
            self._elements = half
            staged += await super().prepare_commit(flush)
        return staged


class PutOff(dict[str, int]):
    """Puts every commit off so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def get(self, key: str, default: Any = 0) -> int:
        return self.setdefault(key, self.times)


def _first_point(folder: Path, what: str) -> int:
    points = Points()
    area = StagingArea(meet=points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncsink.local_run, "open_store", lambda _: WatchedStore.at(folder / "looked", points))
        run(StagedSink(area, keeps=1), folder, every=4)
    return next(number for number, point in enumerate(points.passed) if point.startswith(what))


@pytest.mark.parametrize("name", ["committable_serializer", "global_committable_serializer"])
def test_a_committer_without_a_serializer_is_refused(tmp_path: Path, name: str) -> None:
    area = StagingArea()
    sink = StagedSink(area, publishes=True)
    setattr(sink, name, None)
    with pytest.raises(ConfigurationError, match=f"StagedSink has a committer and no {name}"):
        run(sink, tmp_path)
    assert area.events == []


def test_fewer_elements_than_have_been_committed_are_refused(tmp_path: Path) -> None:
    area = StagingArea()
    run(StagedSink(area), tmp_path)
    with pytest.raises(ConfigurationError, match=r"10 elements have been committed .* only 3; give the same elements"):
        run(StagedSink(area), tmp_path, ELEMENTS[:3])
    assert area.visible == ELEMENTS


def test_no_elements_between_commits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="checkpoint_every = 0; it must be at least 1, or None"):
        run(StagedSink(StagingArea()), tmp_path, every=0)
