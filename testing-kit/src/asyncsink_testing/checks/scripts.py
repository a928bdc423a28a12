"""Many scripts of faults, short ones all of them and long ones by chance; of the group ``faults``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

import anyio

from asyncsink_testing.conformance.check import ConformanceError, check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault, Step

SHORT = (
    Step(Fault.OK),
    Step.partly(Fault.PARTLY_FAILED, 1),
    Step(Fault.THROTTLED),
    Step(Fault.DISCONNECTED),
    Step(Fault.ANSWER_LOST),
)
"""What the steps of the short scripts are."""

LONG = (
    Fault.PARTLY_FAILED,
    Fault.PARTLY_THROTTLED,
    Fault.PARTLY_MIXED,
    Fault.THROTTLED,
    Fault.REFUSED,
    Fault.DISCONNECTED,
    Fault.ANSWER_LOST,
    Fault.ANSWER_CUT,
    Fault.HANGING,
    Fault.HANGING_STORED,
)
"""What the steps of the long scripts are, beside OK."""

SEED = 171
LONG_SCRIPTS = 200
MAX_BATCH = 10
"""The largest batch that a long script asks for, unless the service takes fewer."""

AT_ONCE = 4
"""Scripts that are tried at the same time, each with a destination of its own."""

_SCRIPT_LIMIT_S = 15.0
_HANGING = frozenset({Fault.HANGING, Fault.HANGING_STORED})


@dataclass(frozen=True, slots=True, eq=False)
class _Script:
    """What a destination does, and to what."""

    name: str
    steps: tuple[Step, ...]
    batch: int
    rows: int

    def __str__(self) -> str:
        steps = ", ".join(map(_told, self.steps))
        return f"{self.name}, maxBatchSize {self.batch}, {self.rows} rows: [{steps}]"


@check("every-short-script", group="faults", since="0.1", one_of=[step.fault for step in SHORT[1:]], limit_s=900)
async def every_short_script(trial: Trial) -> None:
    """Whatever happens to the first requests, in whatever order, nothing is lost, and nothing doubled without need.

    All scripts of four steps are tried that can be made of: stored, one entry failed, throttled, cut off before storing
    and cut off after it; those of two steps where the destination is not in process. The message shows the script. Each
    of the faults has a check of its own: where those pass, look at what a fault does to a request that has met another
    one before.
    """
    steps = [step for step in SHORT if step.fault is Fault.OK or step.fault in trial.destination.supported]
    every = product(steps, repeat=4 if trial.subject.in_process else 2)
    await _try_all(trial, (_Script("script", script, trial.batch, 2 * trial.batch + 1) for script in every))


@check("long-scripts", group="faults", since="0.1", one_of=LONG, limit_s=900)
async def long_scripts(trial: Trial) -> None:
    """Two hundred long sequences of faults, with batches of all sizes, lose nothing and double no row without need.

    They are drawn from everything that the destination can do to a request and that a retry can mend, single steps and
    stretches of the same fault; what hangs is left out where time is real. The same scripts are drawn each time; the
    message shows the script and its number, the batch size and the rows, by which it can be repeated.
    """
    left_out = frozenset() if trial.subject.in_process else _HANGING
    faults = [fault for fault in LONG if fault in trial.destination.supported - left_out]
    largest = min(MAX_BATCH, trial.capabilities.max_batch_entries or MAX_BATCH)
    await _try_all(trial, _long(Random(SEED), faults, largest))


def _long(random: Random, faults: Sequence[Fault], largest: int) -> Iterator[_Script]:
    for number in range(LONG_SCRIPTS):
        batch = random.randint(1, largest)
        steps = tuple(_drawn(random, faults, batch))
        rows = random.choice((1, 1, 2, 5)) * batch + random.choice((0, 0, 1))
        yield _Script(f"script {number} of seed {SEED}", steps, batch, rows)


def _drawn(random: Random, faults: Sequence[Fault], batch: int) -> Iterator[Step]:
    """Steps, up to 18 of them; few enough by index that no entry fails retry.maxAttempts times."""
    left, by_index, hung = random.randint(4, 18), 0, 0
    while left > 0:
        fault = random.choice((Fault.OK, *faults))
        count = min(left, random.choice((1, 1, 2, 6)))
        if fault.by_index:
            count = min(count, 6 - by_index)
            by_index += count
        elif fault in _HANGING:
            count = min(count, 2 - hung)
            hung += count
        left -= max(count, 1)
        for _ in range(count):
            yield Step(fault, indices=_indices(random, batch) if fault.by_index else None)


def _indices(random: Random, batch: int) -> frozenset[int]:
    """One index, about half of them, or all: what code that sends entries again gets wrong in different ways."""
    share = random.choice((0.0, 0.5, 1.0))
    drawn = {index for index in range(batch) if random.random() < share}
    return frozenset(drawn or {random.randrange(batch)})


async def _try_all(trial: Trial, scripts: Iterable[_Script]) -> None:
    """Try each script, some at a time: on the wire most of their time is waiting."""
    free = anyio.CapacityLimiter(AT_ONCE)

    async def tried(script: _Script) -> None:
        try:
            await _try(trial, script)
        finally:
            free.release_on_behalf_of(script)

    async with anyio.create_task_group() as group:
        for script in scripts:
            await free.acquire_on_behalf_of(script)
            group.start_soon(tried, script)


async def _try(trial: Trial, script: _Script) -> None:
    """Send rows to a fresh destination that goes by the script.

    :raises ConformanceError: what the delivery has to say, with the script
    """
    extra = {"maxBatchSize": str(script.batch)}
    if not trial.subject.in_process and "requestTimeout" in trial.subject.tuning:
        extra["requestTimeout"] = "5s"  # nothing hangs there, and a machine that stalls must not look like it
    async with trial.fresh() as own:
        with anyio.move_on_after(_SCRIPT_LIMIT_S) as limit:
            delivery = await own.deliver(own.rows(script.rows), script.steps, extra=extra)
        if limit.cancelled_caught:
            trial.fail(f"{script}\nThe writer had not come to its end after {_SCRIPT_LIMIT_S:g} s")
        try:
            delivery.succeeded().nothing_lost().nothing_doubled()
        except ConformanceError as error:
            raise ConformanceError(f"{script}\n{error}") from error


def _told(step: Step) -> str:
    indices = "" if step.indices is None else f" {' '.join(map(str, sorted(step.indices)))}"
    return f"{step.fault.value}{indices}"
