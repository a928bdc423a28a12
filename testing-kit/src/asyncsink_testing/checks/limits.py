"""The limits of the service and of the writer hold, and what they leave is used."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import anyio

from asyncsink.errors import AsyncSinkError
from asyncsink.sink import SinkWriter
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.delivery import shown
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.faults import Fault

_DEFAULTS = {"maxBatchSize": None, "maxBufferedRequests": None}
"""Options left out, so that the connector's own values hold."""

_ENCODED = 8
"""The most bytes that a character of the texts may take, or else its three of UTF-8: ``\\u6f22`` within base64."""


# ---- one request ---------------------------------------------------------------------------------------------


@check("batch-entries-limit", since="0.1", asks=["max_batch_entries"], sees_requests=True)
async def batch_entries_limit(trial: Trial) -> None:
    """Where the user sets no maxBatchSize, no request holds more entries than the service takes.

    Enough rows for several full requests are written. A request with more entries than capabilities.max_batch_entries
    means that max_batch_size in the sink's ``defaults`` is missing or too large.
    """
    limit = trial.capabilities.max_batch_entries or 0
    delivery = await trial.deliver(trial.rows(3 * limit), extra=_DEFAULTS)
    delivery.succeeded().nothing_lost()
    _refuse_larger(trial, limit, "the service takes", "max_batch_size in the sink's `defaults`")


@check("batch-size-option", since="0.1", sees_requests=True)
async def batch_size_option(trial: Trial) -> None:
    """A user's maxBatchSize is obeyed, and a stream of many rows is sent in requests that are as full as it allows.

    Many rows are written at once. No request may hold more, and at least half of the requests must hold as many. It
    breaks where the connector has a batch size of its own, and where it sends rows one by one.
    """
    size = min(3, trial.batch)
    rows = trial.rows(12 * size)
    delivery = await trial.deliver(rows, extra={"maxBatchSize": str(size), "maxTimeInBuffer": "5s"})
    delivery.succeeded().arrived()
    _refuse_larger(trial, size, "maxBatchSize allows", "what the sink does with its writer's configuration")
    counts = [len(each.payloads) for each in trial.destination.requests or ()]
    if counts.count(size) * 2 < len(counts):
        trial.fail(
            f"{len(rows)} rows went in {len(counts)} requests of {shown(counts)} entries, though maxBatchSize = "
            f"{size} and all rows were written at once: look for a batch size of the connector's own, and for a "
            "submit_request_entries that sends entries one by one"
        )


def _refuse_larger(trial: Trial, limit: int, who: str, where: str) -> None:
    for request in trial.destination.requests or ():
        if len(request.payloads) > limit:
            trial.fail(f"{request} is too large: {who} {limit} entries a request. Look at {where}.")


@check("batch-bytes-limit", since="0.1", asks=["max_batch_bytes"], sees_requests=True)
async def batch_bytes_limit(trial: Trial) -> None:
    """No request holds more bytes than the service takes, in whatever script its texts are.

    Rows with large texts are written, in ASCII and in Chinese, with the connector's own limits. A request whose texts
    alone, in UTF-8, are larger than capabilities.max_batch_bytes means that max_batch_size_in_bytes in the sink's
    ``defaults`` is missing or too large, or that size_in_bytes counts too little, such as characters.
    """
    limit = trial.capabilities.max_batch_bytes or 0
    record = min(limit, trial.capabilities.max_record_bytes or limit) - 512
    texts = [text for text in ("x" * (record * 3 // 4), "漢" * (record // _ENCODED)) if _overfill(trial, limit, text)]
    if not texts:
        raise NotApplicableError(f"rows within their limits never come to {limit} bytes in one request")
    for text in texts:
        async with trial.fresh() as fresh:
            count = 2 * (limit // _bytes(text) + 1) + 1
            delivery = await fresh.deliver(fresh.rows(count, text=text), extra=_DEFAULTS)
            delivery.succeeded().nothing_lost()
            _refuse_heavier(fresh, limit)


def _overfill(trial: Trial, limit: int, text: str) -> bool:
    """Whether as many rows with this text as a request may hold are too large for it."""
    most = trial.capabilities.max_batch_entries
    return bool(text) and (most is None or most * _bytes(text) > limit)


def _refuse_heavier(trial: Trial, limit: int) -> None:
    for request in trial.destination.requests or ():
        size = sum(_bytes(trial.subject.row(payload)["text"]) for payload in request.payloads)
        if size > limit:
            trial.fail(
                f"{request} holds texts of {size} bytes, and the service takes {limit} bytes a request. Look at "
                "max_batch_size_in_bytes in the sink's `defaults`, and at size_in_bytes, which must count all bytes of "
                "an entry as the service does"
            )


def _bytes(text: str) -> int:
    return len(text.encode())


@check("record-limit", since="0.1", asks=["max_record_bytes"])
async def record_limit(trial: Trial) -> None:
    """A row that is too large for the service is refused before it is sent, by an error that names size and limit.

    Two rows that are too large, one in ASCII and one in Chinese, are written among others. ``write`` must raise for
    them, and the other rows must arrive. It breaks where max_record_size_in_bytes in the sink's ``defaults`` is
    missing or larger than capabilities.max_record_bytes, and where size_in_bytes counts too little.
    """
    limit = trial.capabilities.max_record_bytes or 0
    good = trial.rows(2 * trial.batch + 1)
    large = [trial.rows(1, first=1_000, text="x" * (limit + 1))[0]]
    large += trial.rows(1, first=1_001, text="漢" * (limit // 2))
    async with trial.writer({"maxBufferedRequests": None}) as writer:
        await _write(trial, writer, good[: trial.batch + 1])
        for row in large:
            await _refused(trial, writer, row, limit)
        await _write(trial, writer, good[trial.batch + 1 :])
    (await trial.seen(good, writer)).nothing_lost()


async def _refused(trial: Trial, writer: SinkWriter[Any, Any, Any], row: Row, limit: int) -> None:
    size = _bytes(row["text"])
    try:
        await writer.write(trial.elements([row])[0])
    except AsyncSinkError as error:
        numbers = [int(re.sub("[_,]", "", each)) for each in re.findall(r"\d[\d_,]*", str(error))]
        if not any(limit // 2 <= each <= limit for each in numbers) or max(numbers) < size:
            trial.fail(
                f"the error for a row with a text of {size} bytes must name its size and the limit, which is {limit} "
                f"bytes a row; it says: {error}. Look at max_record_size_in_bytes in the sink's `defaults`"
            )
        return
    trial.fail(
        f"a row with a text of {size} bytes was accepted, and the service takes {limit} bytes a row. Look at "
        "max_record_size_in_bytes in the sink's `defaults`, and at size_in_bytes, which must count all bytes of an "
        "entry as the service does"
    )


async def _write(trial: Trial, writer: SinkWriter[Any, Any, Any], rows: Iterable[Row]) -> None:
    for element in trial.elements(rows):
        await writer.write(element)


# ---- requests in flight --------------------------------------------------------------------------------------


@check("in-flight-limit", since="0.1", needs=[Fault.SLOW], sees_requests=True)
async def in_flight_limit(trial: Trial) -> None:
    """Never are more requests under way than maxInFlightRequests allows.

    The destination answers late, so that requests pile up. It breaks where submit_request_entries makes several
    requests of one, where it returns before the answer has come, and where the connector has a limit of its own.
    """
    limit = 2
    peak = await _peak_in_flight(trial, limit)
    if peak > limit:
        trial.fail(
            f"{peak} requests were under way at once, and maxInFlightRequests = {limit}: look at what the sink does "
            "with its writer's configuration, and at a submit_request_entries that makes several requests of one or "
            "returns before the answer has come"
        )


@check("in-flight-used", since="0.1", needs=[Fault.SLOW], sees_requests=True)
async def in_flight_used(trial: Trial) -> None:
    """Where the destination is slow several requests are under way at once, as maxInFlightRequests allows.

    With one request after the other a slow destination makes a slow sink. It breaks where submit_request_entries
    holds a lock, uses a connection that takes one request at a time, or blocks the event loop.
    """
    limit = 3
    peak = await _peak_in_flight(trial, limit)
    if peak < 2:
        trial.fail(
            f"never was more than {peak} request under way, though the destination is slow and maxInFlightRequests = "
            f"{limit}: look for a lock around the request, for a client that has one connection only, and for a "
            "synchronous call that blocks the event loop"
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
_ATTEMPTS = 3


@check("loop-not-blocked", since="0.1", needs=[Fault.SLOW])
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


@check("backpressure", since="0.1", one_of=[Fault.HANGING, Fault.SLOW])
async def backpressure(trial: Trial) -> None:
    """While the destination hangs a writer holds no more rows than its options allow; afterwards it goes on.

    What is accepted and not stored must stay within maxBufferedRequests and what is in flight; until then ``write``
    returns, and after that it waits. A writer without that bound fills the memory of the worker. It breaks where a
    connector keeps rows of its own before or behind the writer, and where it has a bound of its own.
    """
    buffered = 3 * trial.batch
    bound = buffered + trial.batch
    extra = {"maxInFlightRequests": "1", "maxBufferedRequests": str(buffered), "requestTimeout": "200ms"}
    rows = trial.rows(2 * bound)
    what = f"rows, and maxBufferedRequests = {buffered} and a request of {trial.batch} rows in flight make"
    await _write_within(trial, rows, [1] * len(rows), bound, extra, what)


@check("byte-backpressure", since="0.1", one_of=[Fault.HANGING, Fault.SLOW])
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
    sizes = [_bytes(row["text"]) for row in rows]
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
