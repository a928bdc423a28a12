"""The limits of the service and of the writer hold, and what they leave is used."""

from __future__ import annotations

import re
from typing import Any

from asyncsink.errors import AsyncSinkError
from asyncsink.sink import SinkWriter
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.delivery import shown
from asyncsink_testing.conformance.trial import Row, Trial

_DEFAULTS = {"maxBatchSize": None, "maxBufferedRequests": None}
"""Options left out, so that the connector's own values hold."""

_ENCODED = 8
"""The most bytes that a character of the texts may take, or else its three of UTF-8: ``\\u6f22`` within base64."""


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
    breaks where the connector has a batch size of its own, and where it sends rows one by one. Where a request holds a
    batch for each of several partitions, it is about these.
    """
    size = min(3, trial.batch)
    rows = trial.rows(12 * size)
    delivery = await trial.deliver(rows, extra={"maxBatchSize": str(size), "maxTimeInBuffer": "5s"})
    delivery.succeeded().arrived()
    _refuse_larger(trial, size, "maxBatchSize allows", "what the sink does with its writer's configuration")
    counts = [count for each in trial.destination.requests or () for count in each.batches]
    if counts.count(size) * 2 < len(counts):
        trial.fail(
            f"{len(rows)} rows went in {len(counts)} requests of {shown(counts)} entries, though maxBatchSize = "
            f"{size} and all rows were written at once: look for a batch size of the connector's own, and for a "
            "submit_request_entries that sends entries one by one"
        )


def _refuse_larger(trial: Trial, limit: int, who: str, where: str) -> None:
    for request in trial.destination.requests or ():
        if max(request.batches) > limit:
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
        await trial.write(writer, good[: trial.batch + 1])
        for row in large:
            await _refused(trial, writer, row, limit)
        await trial.write(writer, good[trial.batch + 1 :])
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
