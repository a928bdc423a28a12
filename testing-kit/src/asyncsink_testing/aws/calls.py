"""AWS's JSON protocol, as the fakes of a service read and answer it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncsink_testing.http_server import HttpRequest, Reaction

CONTENT_TYPE = "application/x-amz-json-1.1"


@dataclass(frozen=True, slots=True)
class AwsCall:
    """One call.

    :param target: the version of the API, as in ``Kinesis_20131202``
    :param operation: as in ``PutRecords``
    :param parameters: what the body holds
    """

    target: str
    operation: str
    parameters: Mapping[str, Any]


def call_of(request: HttpRequest) -> AwsCall | None:
    """The call that a request makes; None if its body is no JSON object."""
    target, _, operation = request.headers.get("x-amz-target", "").rpartition(".")
    parameters = _decoded(request.body)
    return None if parameters is None else AwsCall(target, operation, parameters)


# A fake looks at a request several times: to check it, for its entries, and to store them.
@lru_cache(maxsize=2)
def _decoded(body: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def answered(result: Mapping[str, Any]) -> Reaction:
    """The answer to a call that succeeded."""
    return Reaction(headers=_headers(), body=json.dumps(result).encode())


def refused(code: str, message: str, status: int = 400) -> Reaction:
    """The answer to a call that failed, by AWS's code and sentence; most have the status 400."""
    body = json.dumps({"__type": code, "message": message}).encode()
    return Reaction.refuse(status, body, _headers())


def _headers() -> dict[str, str]:
    return {"Content-Type": CONTENT_TYPE, "x-amzn-RequestId": str(uuid.uuid4())}
