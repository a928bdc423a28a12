"""How much is under way and held at once; of the group ``limits``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import anyio

from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.faults import Fault

_ATTEMPTS = 3
"""Of a check that a busy machine can fail."""
_NOT_VISIBLE = {"commits": "what of a writer's rows has been sent is not visible before it is committed"}

# ---- requests in flight --------------------------------------------------------------------------------------


@check("in-flight-limit", group="limits", since="0.1", needs=[Fault.SLOW], sees_requests=True)
async def in_flight_limit(trial: Trial) -> None:
    """Never are more requests under way than maxInFlightRequests allows.

    The destination answers late, so that requests pile up. It breaks where submit_request_entries makes several
    requests of one, where it returns before the answer has come, and where the connector has a limit of its own. Where
    each server takes one request of a connector at a time, no more may be under way than there are servers.
    """
    limit = trial.servers or 2
    peak = await _peak_in_flight(trial, limit)
    if peak > limit:
        allowed = f"servers = {limit}, of which each takes one" if trial.servers else f"maxInFlightRequests = {limit}"
        trial.fail(
            f"{peak} requests were under way at once, and {allowed}: look at what the sink does "
            "with its writer's configuration, and at a submit_request_entries that makes several requests of one or "
            "returns before the answer has come"
        )


@check("in-flight-used", group="limits", since="0.1", needs=[Fault.SLOW], sees_requests=True)
async def in_flight_used(trial: Trial) -> None:
    """Where the destination is slow several requests are under way at once, as maxInFlightRequests allows.

    With one request after the other a slow destination makes a slow sink. It breaks where submit_request_entries
    holds a lock, uses a connection that takes one request at a time, or blocks the event loop.
    """
    if trial.servers == 1:
        raise NotApplicableError("there is one server, and it takes one request of a connector at a time")
    limit = 3
    for _ in range(_ATTEMPTS):  # the next request may come after a slow answer, on a slower machine, but not always
        async with trial.fresh() as fresh:
            if await _peak_in_flight(fresh, limit) > 1:
                return
    trial.fail(
        f"never was more than one request under way in {_ATTEMPTS} attempts, though the destination is slow and "
        f"maxInFlightRequests = {limit}: look for a lock around the request, for a client that has one connection, and "
        "for a synchronous call that blocks the event loop"
    )


async def _peak_in_flight(trial: Trial, limit: int) -> int:
    if trial.destination.peak_in_flight is None:
        raise NotApplicableError("the destination does not show how many requests are under way")
    # No answer may come too late: a request that is given up, and still under way there, is not the connector's.
    extra = {"maxInFlightRequests": str(limit), "requestTimeout": "10s"}
    delivery = await trial.deliver(trial.rows(6 * trial.batch), then=Fault.SLOW, extra=extra)
    delivery.succeeded().arrived()
    return trial.destination.peak_in_flight


_TICK_S = 0.005
_LONG_GAP_S = 0.02
_BLOCKED_S = 0.05
"""Seconds a request for which the loop may stand still: what blocks for a slow answer does so for ``SLOW_S``, twice as
long, and a machine with ten times as much to do as it can makes half of this."""


@check("loop-not-blocked", group="limits", since="0.1", needs=[Fault.SLOW])
async def loop_not_blocked(trial: Trial) -> None:
    """While requests are slow, other tasks in the same event loop go on.

    A task that ticks every few milliseconds runs beside the writer. If the ticks stop for long in relation to the
    number of requests, and do so in each of three attempts, something blocks the loop: a synchronous client,
    time.sleep, or a long computation in submit_request_entries.
    """
    found: list[float] = []
    for _ in range(_ATTEMPTS):  # a busy machine makes gaps as well, but not always
        async with trial.fresh() as fresh:
            found.append(await _blocked_s(fresh))
        if found[-1] < _BLOCKED_S:
            return
    trial.fail(
        f"the event loop stood still for {min(found) * 1000:.0f} ms for each request, or longer, in {_ATTEMPTS} "
        "attempts: look in submit_request_entries for a synchronous client, for time.sleep and for long computations; "
        "use the client's asynchronous form, or anyio.to_thread.run_sync"
    )


async def _blocked_s(trial: Trial) -> float:
    """Seconds of the wall, for each request, for which a task beside a writer did not get its turn."""
    ticks = [time.monotonic()]

    async def tick() -> None:
        while True:
            await anyio.sleep(_TICK_S)
            ticks.append(time.monotonic())

    requests = 6
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        delivery = await trial.deliver(trial.rows(requests * trial.batch), then=Fault.SLOW)
        await anyio.sleep(_TICK_S)
        group.cancel_scope.cancel()
    delivery.succeeded().arrived()
    gaps = [after - before for before, after in pairwise(ticks)]
    return sum(gap for gap in gaps if gap > _LONG_GAP_S) / requests


# ---- the buffer ----------------------------------------------------------------------------------------------


@check("backpressure", group="limits", since="0.1", one_of=[Fault.HANGING, Fault.SLOW], not_with=_NOT_VISIBLE)
async def backpressure(trial: Trial) -> None:
    """While the destination hangs a writer holds no more rows than its options allow; afterwards it goes on.

    What is accepted and not stored must stay within maxBufferedRequests and what is in flight; until then ``write``
    returns, and after that it waits. A writer without that bound fills the memory of the worker. It breaks where a
    connector keeps rows of its own before or behind the writer, and where it has a bound of its own. In flight is a
    batch, or one of each partition where the service has these.
    """
    buffered, requests = 3 * trial.batch, trial.partitions
    bound = buffered + requests * trial.batch
    extra = {"maxInFlightRequests": str(requests), "maxBufferedRequests": str(buffered), "requestTimeout": "200ms"}
    rows = trial.rows(2 * bound)
    what = f"rows, and maxBufferedRequests = {buffered} and {requests} x {trial.batch} rows in flight make"
    await _write_within(trial, rows, [1] * len(rows), bound, extra, what)


@check("byte-backpressure", group="limits", since="0.1", one_of=[Fault.HANGING, Fault.SLOW], not_with=_NOT_VISIBLE)
async def byte_backpressure(trial: Trial) -> None:
    """While the destination hangs a writer holds no more bytes than its options allow; afterwards it goes on.

    What is accepted and not stored must stay within maxBufferedSizeInBytes, in flight included. It breaks where
    size_in_bytes counts too little, and where a connector has a bound of its own.
    """
    bound = 8_000
    extra = {
        "maxInFlightRequests": "2",
        "maxBufferedRequests": None,
        "maxRecordSizeInBytes": "2000",
        "maxBatchSizeInBytes": "4000",
        "maxBufferedSizeInBytes": str(bound),
        "requestTimeout": "200ms",
    }
    rows = trial.rows(24, text="x" * 1_000)
    sizes = [len(row["text"].encode()) for row in rows]
    await _write_within(trial, rows, sizes, bound, extra, "bytes of text, and maxBufferedSizeInBytes makes")


async def _write_within(
    trial: Trial, rows: Sequence[Row], weights: Sequence[int], bound: int, extra: Mapping[str, str | None], what: str
) -> None:
    """Write `rows` while the first requests hang; what is accepted and not stored must not weigh more than `bound`."""
    fault = Fault.HANGING if Fault.HANGING in trial.destination.supported else Fault.SLOW
    trial.destination.script([fault, fault])
    accepted: dict[int, int] = {}
    async with trial.writer(extra) as writer:
        for row, weight in zip(rows, weights, strict=True):
            await writer.write(trial.elements([row])[0])
            accepted[row["id"]] = weight
            if sum(accepted.values()) <= bound:
                continue
            for each in await trial.destination.received():
                accepted[trial.id_of(each.payload)] = 0
            if sum(accepted.values()) > bound:
                trial.fail(
                    f"the writer holds {sum(accepted.values())} {what} {bound}: `write` must wait. Look for rows that "
                    "the connector keeps outside of the writer's buffer, for what the sink does with its writer's "
                    "configuration, and at size_in_bytes"
                )
    (await trial.seen(rows, writer)).arrived()
