"""Many scripts of faults, short ones all of them and long ones by chance; of the group ``faults``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

import anyio

from asyncsink.errors import AsyncSinkError
from asyncsink.sink import SinkWriter
from asyncsink_testing.conformance.check import ConformanceError, check
from asyncsink_testing.conformance.delivery import Delivery
from asyncsink_testing.conformance.trial import Row, Trial
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
LONG_SCRIPTS, LONG_SCRIPTS_IN_PROCESS = 200, 40
"""In process the short scripts are long enough to meet nearly everything."""
MAX_BATCH = 10
"""The largest batch that a long script asks for, unless the service takes fewer."""

AT_ONCE = 4
"""Writers that go through scripts at the same time, each with a destination of its own."""

SCRIPTS_A_WRITER = 25
"""Scripts that a writer goes through, with a flush after each: to connect takes many clients longer than a script."""

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
    and cut off after it; those of two steps where the destination is not in process. After each there is a flush, and
    the message shows the script that rows did not survive. Each of the faults has a check of its own: where those pass,
    look at what a fault does to a request that has met another one before.
    """
    steps = [step for step in SHORT if step.fault is Fault.OK or step.fault in trial.destination.supported]
    every = product(steps, repeat=4 if trial.subject.in_process else 2)
    await _try_all(trial, (_Script("script", script, trial.batch, 2 * trial.batch + 1) for script in every))


@check("long-scripts", group="faults", since="0.1", one_of=LONG, limit_s=900)
async def long_scripts(trial: Trial) -> None:
    """Two hundred long sequences of faults, with batches of all sizes, lose nothing and double no row without need.

    In process, where the short ones are longer, they are forty. They are drawn from everything that the destination
    can do to a request and that a retry can mend, single steps and stretches of the same fault; what hangs is left
    out where time is real. The same ones are drawn each time. After each there is a flush; the message shows the
    script, its number, the batch size and the rows.
    """
    left_out = frozenset() if trial.subject.in_process else _HANGING
    faults = [fault for fault in LONG if fault in trial.destination.supported - left_out]
    largest = min(MAX_BATCH, trial.capabilities.max_batch_entries or MAX_BATCH)
    count = LONG_SCRIPTS_IN_PROCESS if trial.subject.in_process else LONG_SCRIPTS
    await _try_all(trial, _long(Random(SEED), faults, largest, count))


def _long(random: Random, faults: Sequence[Fault], largest: int, count: int) -> Iterator[_Script]:
    for number in range(count):
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

    async def tried(some: Sequence[_Script]) -> None:
        async with free:
            await _try(trial, some)

    async with anyio.create_task_group() as group:
        for some in _shared_out(scripts):
            group.start_soon(tried, some)


def _shared_out(scripts: Iterable[_Script]) -> Iterator[Sequence[_Script]]:
    """Scripts of the same batch size, so many to a writer."""
    by_batch: dict[int, list[_Script]] = defaultdict(list)
    for script in scripts:
        by_batch[script.batch].append(script)
    for same in by_batch.values():
        for first in range(0, len(same), SCRIPTS_A_WRITER):
            yield same[first : first + SCRIPTS_A_WRITER]


async def _try(trial: Trial, scripts: Sequence[_Script]) -> None:
    """Go through scripts with one writer and one destination, then look at what became of each.

    :raises ConformanceError: what a delivery has to say, with its script
    """
    extra: dict[str, str | None] = {"maxBatchSize": str(scripts[0].batch)}
    if trial.subject.in_process:
        extra |= trial.hanging_options
    owner: dict[int, int] = {}
    written: list[Row] = []
    async with trial.fresh() as own, own.writer(extra) as writer:
        for at, script in enumerate(scripts):
            rows = own.rows(script.rows, first=len(written))
            written += rows
            owner |= {row["id"]: at for row in rows}
            error = await _send_by(own, writer, script, rows)
            if error is not None:
                break
        # At the end, since to look at all that arrived after every script would take longer than the scripts.
        _judge(scripts, owner, await own.seen(written, writer, error))


async def _send_by(
    trial: Trial, writer: SinkWriter[Any, Any, Any], script: _Script, rows: Sequence[Row]
) -> AsyncSinkError | None:
    """Write rows while the destination goes by the script, and flush; what the writer failed with, if it did."""
    trial.destination.script(script.steps)
    error: AsyncSinkError | None = None
    with anyio.move_on_after(_SCRIPT_LIMIT_S) as limit:
        try:
            for element in trial.elements(rows):
                await writer.write(element)
            await writer.flush(end_of_input=True)
        except AsyncSinkError as raised:
            error = raised
    if limit.cancelled_caught:
        trial.fail(f"{script}\nThe writer had not delivered everything after {_SCRIPT_LIMIT_S:g} s")
    return error


def _judge(scripts: Sequence[_Script], owner: Mapping[int, int], seen: Delivery) -> None:
    """Judge the rows of each script by themselves; `owner` tells whose each of them is."""
    last = max(owner.values())
    written = _parted(seen.rows, lambda row: {owner[row["id"]]})
    received = _parted(seen.received, lambda row: {owner.get(row["id"], last)})
    # A broken writer may send rows of one script together with those of the next.
    requests = _parted(
        seen.requests or (), lambda each: {owner.get(seen.id_of(payload), last) for payload in each.payloads}
    )
    for at, script in enumerate(scripts[: last + 1]):
        own = replace(
            seen,
            rows=tuple(written[at]),
            received=tuple(received[at]),
            requests=None if seen.requests is None else tuple(requests[at]),
            error=seen.error if at == last else None,
        )
        try:
            own.succeeded().nothing_lost().nothing_doubled()
        except ConformanceError as broken:
            raise ConformanceError(f"{script}\n{broken}") from broken


def _parted(things: Iterable[Any], whose: Callable[[Any], set[int]]) -> dict[int, list[Any]]:
    parts: dict[int, list[Any]] = defaultdict(list)
    for each in things:
        for at in whose(each):
            parts[at].append(each)
    return parts


def _told(step: Step) -> str:
    indices = "" if step.indices is None else f" {' '.join(map(str, sorted(step.indices)))}"
    return f"{step.fault.value}{indices}"
