"""Functions that a user might name in options: one as it should be, and some with a bug."""

from __future__ import annotations

import json
from typing import Any

from asyncsink import Failure, FailureKind, RequestResult
from asyncsink_http import HttpAnswer, HttpExchange

no_function = 7

exchanges: list[HttpExchange] = []


def by_code(answer: HttpAnswer, rows: int) -> RequestResult | None:
    """Reads ``{"failed": {"3": "422"}}``; the code is looked up among the statuses."""
    told: dict[str, Any] = json.loads(answer.body or b"{}")
    if "failed" not in told:
        return None
    return RequestResult(
        {int(row): Failure(code, f"said {code} of s3cret-token") for row, code in told["failed"].items()}
    )


def by_kind(answer: HttpAnswer, rows: int) -> RequestResult:
    return RequestResult({0: Failure("E7", "no", FailureKind.REJECTED)}, pause_s=3.0)


def outside(answer: HttpAnswer, rows: int) -> RequestResult:
    return RequestResult({rows: Failure("422")})


def strange(answer: HttpAnswer, rows: int) -> Any:
    return ["no result"]


def keep(exchange: HttpExchange) -> None:
    exchanges.append(exchange)


def fail(exchange: HttpExchange) -> None:
    raise KeyError("a bug of the user's")


def quote(exchange: HttpExchange) -> None:
    raise ValueError(exchange.answer.text)


async def keep_later(exchange: HttpExchange) -> None:
    exchanges.append(exchange)
