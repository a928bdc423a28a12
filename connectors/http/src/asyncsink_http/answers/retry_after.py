"""The Retry-After header (RFC 9110, 10.2.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds for which the server asks to be left alone; None if it does not ask, or not for later than now.

    A date counts from the answer's own Date, so that it holds where the two clocks differ; without one from `now`.
    Text that is neither a number nor a date asks for nothing.

    :param headers: of the answer; names compare without case
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        seconds = float(value)
    else:
        until = date_of(value)
        if until is None:
            return None
        since = date_of(headers.get("date", "")) or now or datetime.now(UTC)
        seconds = (until - since).total_seconds()
    return seconds if seconds > 0 else None


def date_of(text: str) -> datetime | None:
    """The moment of a date as HTTP writes it (RFC 9110, 5.6.7); None if the text is none."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        # What the parser raises for text that only looks like a date; OverflowError for a zone beyond all days.
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
