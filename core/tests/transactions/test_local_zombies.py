"""A run that was taken for dead and goes on, beside the one that has taken its place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import anyio
import pytest

import asyncsink.local_run
from asyncsink import LedgerError, LocalRun, run_local
from asyncsink_testing.killing import Points, WatchedStore
from asyncsink_testing.staged_sink import StagedSink, StagingArea

ELEMENTS = [f"element {number}" for number in range(10)]


class Asleep(Points):
    """Sleeps at one point for as long as another run takes, which has the same folder."""

    def __init__(self, at: str, meanwhile: Callable[[], LocalRun]) -> None:
        super().__init__()
        self._at, self._meanwhile = at, meanwhile

    def __call__(self, what: str) -> None:
        if what == self._at and what not in self.passed:
            self.passed.append(what)
            with ThreadPoolExecutor() as elsewhere:  # this thread has a loop already
                elsewhere.submit(self._meanwhile).result()


@pytest.mark.parametrize("at", ["before creating slot-1", "after creating slot-1", "after creating done-1"])
def test_a_run_that_slept_while_another_went_on_with_its_elements_writes_none_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    area = StagingArea()
    run = partial(anyio.run, partial(run_local, StagedSink(area), ELEMENTS, tmp_path, checkpoint_every=4))
    asleep = Asleep(at, run)
    stores = iter([WatchedStore.at(tmp_path, asleep), WatchedStore.at(tmp_path, Points())])
    monkeypatch.setattr(asyncsink.local_run, "open_store", lambda _: next(stores))
    with pytest.raises(LedgerError, match=r"was decided before|has begun"):
        run()
    assert asleep.passed == [at]
    assert area.visible == ELEMENTS
