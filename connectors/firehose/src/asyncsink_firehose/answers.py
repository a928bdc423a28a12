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
    counted, records = answer.get("FailedPutCount"), answer.get("RequestResponses") or ()
    if counted == 0 and not records:
        return RequestResult.OK
    refused = [record.get("ErrorCode") for record in records]
    coded = sum(map(bool, refused))
    if counted != coded or len(records) != len(cuts) - 1:
        raise RequestError(
            INCOMPLETE_ANSWER,
            f"the answer counts {counted} failed records and has codes of {coded}, and speaks of {len(records)} of "
            f"{len(cuts) - 1}; what answers at the endpoint may not be Firehose",
        )
    failures: dict[int, Failure] = {}
    for (start, stop), code, record in zip(pairwise(cuts), refused, records, strict=True):
        if code:
            failures.update(dict.fromkeys(range(start, stop), Failure(code, record.get("ErrorMessage") or "")))
    return RequestResult(failures)
