"""From the answer to a request to what became of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from asyncsink.errors import RequestError
from asyncsink.failures import Failure
from asyncsink.request import RequestResult
from asyncsink_firehose.errors import INCOMPLETE_ANSWER


def result_of(answer: Mapping[str, Any], cuts: Sequence[int]) -> RequestResult:
    """The failures by row; a record that failed is the failure of each of its rows.

    :param cuts: where each record begins among the rows, and where the last one ends
    :raises RequestError: the answer does not tell what became of every record
    """
    failed = answer.get("FailedPutCount")
    if failed == 0:
        return RequestResult.OK
    records = answer.get("RequestResponses")
    found = len(records) if isinstance(records, list) else 0
    if not failed or found != len(cuts) - 1:
        raise RequestError(
            INCOMPLETE_ANSWER,
            f"the answer counts {failed} failed records and speaks of {found} of {len(cuts) - 1}; what answers at the "
            "endpoint may not be Firehose",
        )
    failures: dict[int, Failure] = {}
    for (start, stop), record in zip(pairwise(cuts), records or (), strict=True):
        if code := record.get("ErrorCode"):
            failures.update(dict.fromkeys(range(start, stop), Failure(code, record.get("ErrorMessage") or "")))
    return RequestResult(failures)
