"""The run: feeds the query, kills, sees to it that all recovers, and counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.outcome import Hit, Outcome, account
from asyncsink_testing.chaos.processes import kill, kill_driver, kill_session, python_processes
from asyncsink_testing.chaos.programs import Destination, Driver
from asyncsink_testing.chaos.progress import Moment, Progress
from asyncsink_testing.chaos.schedule import Aim, Kill
from asyncsink_testing.chaos.source import ROWS, Source
from asyncsink_testing.chaos.targets import Target

RECOVERY_S = 120.0
"""A query that has not committed by then hangs. A new driver takes ten seconds, and a minute on a crowded machine."""

_POLL_S = 0.001
_TRIES = 30
_LONGEST_PLANNING_S, _LONGEST_COMMIT_S = 0.03, 0.06
"""How long after its beginning such a moment is hit at most; it takes about twice as long on a machine at rest."""
_LONGEST_PAUSE_S, _LONGEST_OUTAGE_S = 1.5, 0.3


class Campaign:
    """One sink, one guarantee, and the kills of a schedule, one after the other.

    :param seed: decides on the instants within what each kill is meant for, and on numbers of partitions
    :param folder: where source, checkpoint, logs and the destination's rows go; it must not be used already
    :param say: told what happens, a line at a time
    """

    def __init__(
        self, target: Target, guarantee: str, kills: Sequence[Kill], seed: int, folder: Path, say: Callable[[str], None]
    ) -> None:
        self._target, self._guarantee, self._folder, self._say = target, guarantee, folder, say
        self._random = Random(seed)
        self._kills = tuple(kills)
        self._source = Source(folder / "source")
        self._reader = target.reader(folder)
        self._progress = Progress(self._reader, folder)
        self._hits: list[Hit] = []
        self._started_s = time.monotonic()
        self._destination: Destination
        self._driver: Driver

    def run(self) -> Outcome:
        """Kill as planned, and return the account.

        :raises ChaosError: the query did not recover, or no kill hit what it was meant for
        """
        with closing(self._reader), Destination(self._target.service, self._folder) as self._destination:
            self._destination.start()
            options = self._target.options(self._destination.endpoint(), self._guarantee)
            with Driver(self._folder, self._target, options, self._guarantee) as self._driver:
                self._start_driver()
                for each in self._kills:
                    self._carry_out(each)
                self._recovered()
                restarts = f"{self._driver.starts} starts of the driver, {self._driver.failures()} queries that failed"
                self._say(f"{self._source.files} micro-batches, {restarts}")
            stored = self._reader.everything()
        return account(self._target.name, self._guarantee, self._hits, self._source.expected, stored)

    def _start_driver(self) -> None:
        self._driver.start_with(self._random.randrange(1 << 30))

    # ---- one kill ------------------------------------------------------------------------------------------------

    def _carry_out(self, planned: Kill) -> None:
        moment = self._at_any_instant(planned) if planned.aim == "any" else self._at_its_moment(planned)
        self._hits.append(Hit(planned.victim, moment))
        seconds = time.monotonic() - self._started_s
        self._say(f"{seconds:6.1f} s kill {planned.number}: {planned.victim}, {moment} of micro-batch {self._current}")
        self._help_up(planned)

    def _at_any_instant(self, planned: Kill) -> Moment:
        """Whatever goes on, the recovery from the last kill as well."""
        if self._source.files == 0 or self._progress.is_committed(self._batch):
            self._source.feed()
        self._pause(_LONGEST_PAUSE_S)
        struck: list[Moment] = []

        def done() -> bool:
            struck.extend(self._strike(planned))
            if not struck and self._progress.is_committed(self._batch):
                # A process that was killed may come back with the next micro-batch, and not before.
                self._source.feed()
            return bool(struck)

        self._wait(done, f"for a {planned.victim} to be there")
        return struck[0]

    def _at_its_moment(self, planned: Kill) -> Moment:
        """Feed micro-batches until one is hit as it was meant to be."""
        for _ in range(_TRIES):
            self._recovered()
            # The second finds a query that goes from one to the next without a pause.
            for _ in range(self._random.randint(1, 2)):
                self._source.feed()
            if self._has_come(planned.aim):
                for moment in self._strike(planned, planned.aim):
                    return moment
        raise ChaosError(
            f"in {_TRIES} micro-batches no {planned.victim} could be killed during {planned.aim}; the driver logged "
            f"last:\n{self._driver.tail()}"
        )

    def _has_come(self, aim: Aim) -> bool:
        """Wait for the moment, and for some part of it; whether the micro-batch was not over before."""
        rows = {"planning": 0, "write": self._random.randrange(1, ROWS), "commit": ROWS}[aim]
        longest_s = {"planning": _LONGEST_PLANNING_S, "write": 0.0, "commit": _LONGEST_COMMIT_S}[aim]
        self._wait(lambda: self._has_reached(rows), f"for its {aim}")
        self._pause(longest_s)
        return not self._progress.is_committed(self._batch)

    def _has_reached(self, rows: int) -> bool:
        """Whether so many rows of a micro-batch that has begun have arrived, or no more will."""
        if self._progress.is_committed(self._batch):
            return True
        return self._progress.moment(self._batch) != "between" and self._progress.arrived(self._batch) >= rows

    def _strike(self, planned: Kill, wanted: Aim = "any") -> list[Moment]:
        """Kill one of the victims if what goes on is what is wanted; what it was, or nothing if none was killed."""
        victims = self._victims(planned)
        self._progress.look()
        batch = self._current
        moment = self._progress.moment(batch)
        if not victims or wanted not in ("any", moment) or not self._kill(planned, self._random.choice(victims)):
            return []
        if moment != "between":
            self._progress.hit(batch)
        return [moment]

    def _victims(self, planned: Kill) -> list[int]:
        if planned.victim == "driver":
            return [self._driver.pid]
        if planned.victim == "destination":
            return [self._destination.pid]
        return python_processes(planned.victim, self._driver.pid)

    def _kill(self, planned: Kill, pid: int) -> bool:
        if planned.victim == "driver":
            return kill_driver(pid)
        # A destination may be several processes.
        return kill_session(pid) if planned.victim == "destination" else kill(pid)

    def _help_up(self, planned: Kill) -> None:
        """Start again what Spark cannot."""
        if planned.victim == "driver":
            self._driver.buried()
            self._start_driver()
        elif planned.victim == "destination":
            self._destination.buried()
            self._pause(_LONGEST_OUTAGE_S)
            self._destination.start()

    # ---- waiting -------------------------------------------------------------------------------------------------

    @property
    def _batch(self) -> int:
        """The last micro-batch that was fed."""
        return self._source.files - 1

    @property
    def _current(self) -> int:
        """The one that Spark has in hand: of the last two, which are fed together, the first that is not committed."""
        return next((each for each in (self._batch - 1, self._batch) if self._is_pending(each)), self._batch)

    def _is_pending(self, batch: int) -> bool:
        return batch >= 0 and not self._progress.is_committed(batch)

    def _recovered(self) -> None:
        """Wait until all that was fed is committed."""
        self._wait(lambda: all(map(self._progress.is_committed, range(self._source.files))), "for all to be committed")

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + RECOVERY_S
        while not holds():
            self._check_alive()
            if time.monotonic() > deadline_s:
                raise ChaosError(
                    f"after {RECOVERY_S:g} s of waiting {what} (micro-batch {self._batch}): the query hangs; the "
                    f"driver logged last:\n{self._driver.tail()}"
                )
            time.sleep(_POLL_S)
            self._progress.look()

    def _check_alive(self) -> None:
        for program in (self._driver, self._destination):
            if not program.is_running:
                raise ChaosError(f"a program ended that nobody had killed; it logged last:\n{program.tail()}")

    def _pause(self, longest_s: float) -> None:
        time.sleep(self._random.uniform(0, longest_s))
