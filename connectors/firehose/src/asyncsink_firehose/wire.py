"""The bodies of PutRecordBatch and of its answer, without botocore's work for each record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from asyncsink_aws.bodies import body_of
from asyncsink_aws.ready_bodies import ReadyBody

OPERATION: Final = "PutRecordBatch"

# Nothing within a string can look like this, as its quotes would be escaped. It mostly stands before the ids of the
# records, which are a hundred kilobytes that tell nothing.
_ALL_STORED: Final = re.compile(rb'"FailedPutCount"\s*:\s*0\s*[,}]')
_BEGINNING_BYTES: Final = 100


def parameters(stream: str, records: Sequence[Any], *, ready: bool) -> dict[str, Any]:
    """What ``put_record_batch`` is called with.

    :param records: the data of each, as bytes or a view of some
    :param ready: with a ready body; otherwise botocore builds it, record by record
    """
    if not ready:
        return {"DeliveryStreamName": stream, "Records": [{"Data": bytes(record)} for record in records]}
    body = body_of({"DeliveryStreamName": stream}, records)
    return {"DeliveryStreamName": stream, "Records": ReadyBody(body)}


def decode_answer(body: bytes) -> dict[str, Any] | None:
    """What the call returns for the body of a 200: all of it, or the count alone where every record is stored.

    None where it is no JSON object, so that botocore says what is wrong with it.
    """
    if _ALL_STORED.search(body[:_BEGINNING_BYTES]) and body.rstrip().endswith(b"}"):
        return {"FailedPutCount": 0}
    try:
        answer: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    return answer
