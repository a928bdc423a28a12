"""Quotas that answers tell: RateLimit (IETF draft ratelimit-headers), and what servers had before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from asyncsink_http.answers.retry_after import date_of, retry_after_s

_PREFIXES: Final = ("ratelimit-", "x-ratelimit-", "x-rate-limit-")
_PARAMETER: Final = re.compile(r"(?:^|[;,\s])(r|t|remaining|reset)\s*=\s*(\d{1,18})(?![\d.])", re.ASCII)
_EPOCH: Final = 10**9  # larger numbers are no seconds to wait: they are seconds since 1970,
_EPOCH_MS: Final = 10**11  # and even larger ones milliseconds


class Window(NamedTuple):
    """A quota as an answer tells it; None stands for what it does not tell.

    :param remaining: requests that the quota still allows
    :param reset_s: seconds until it is whole again
    """

    remaining: int | None
    reset_s: float | None


def used_up_s(headers: Mapping[str, str], in_flight: int, now: datetime | None = None) -> float | None:
    """Seconds for which to send nothing, as the requests under way will use a quota up; None if there is room.

    :param headers: of the answer, by names in lower case
    :param in_flight: requests that are under way beside the one that was answered
    """
    windows = [each for each in _windows(headers, now) if each.remaining is not None and each.remaining <= in_flight]
    return (retry_after_s(headers, now) or _longest_s(windows)) if windows else None


def refused_s(headers: Mapping[str, str], in_flight: int, now: datetime | None = None) -> float | None:
    """Seconds until a server that has refused a request for its load may take it; None if it does not say.

    Retry-After counts before all quotas; of these the ones that are used up, or may be.
    """
    asked_s = retry_after_s(headers, now)
    if asked_s is not None:
        return asked_s
    return _longest_s(each for each in _windows(headers, now) if each.remaining is None or each.remaining <= in_flight)


def _longest_s(windows: Iterator[Window] | list[Window]) -> float | None:
    return max((each.reset_s for each in windows if each.reset_s is not None), default=None)


def _windows(headers: Mapping[str, str], now: datetime | None) -> Iterator[Window]:
    for prefix in _PREFIXES:
        remaining, reset = headers.get(f"{prefix}remaining"), headers.get(f"{prefix}reset")
        if remaining is not None or reset is not None:
            yield Window(_count(remaining or ""), _reset_s(reset or "", headers, now))
    if (text := headers.get("ratelimit")) is not None:
        # Up to the draft's seventh version one quota in one dictionary, since then a list of quotas.
        for member in [text] if "remaining" in text else text.split(","):
            found = dict(_PARAMETER.findall(member))
            reset = found.get("t") or found.get("reset") or ""
            yield Window(_count(found.get("r") or found.get("remaining") or ""), _reset_s(reset, headers, now))


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\s*\d{1,18}\s*", text, re.ASCII) else None


def _reset_s(text: str, headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Seconds from now: of seconds, of seconds or milliseconds since 1970, or of a date; None if there are none."""
    if re.fullmatch(r"\s*\d{1,18}(\.\d{1,18})?\s*", text, re.ASCII):
        seconds = float(text)
        if seconds > _EPOCH:
            seconds /= 1000.0 if seconds > _EPOCH_MS else 1.0
            seconds -= _since(headers, now).timestamp()
    else:
        until = date_of(text.strip())
        if until is None:
            return None
        seconds = (until - _since(headers, now)).total_seconds()
    return seconds if seconds > 0 else None


def _since(headers: Mapping[str, str], now: datetime | None) -> datetime:
    """The server's own time where it tells it, so that a moment holds where the two clocks differ."""
    return date_of(headers.get("date", "")) or now or datetime.now(UTC)
