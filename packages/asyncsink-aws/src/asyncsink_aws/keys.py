"""An access key as a user's own source of credentials returns it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class AwsKeys(NamedTuple):
    """What signs requests, and until when.

    :param expires_at: a datetime with a time zone, or seconds since the epoch; None: they do not expire
    """

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    expires_at: datetime | float | None = None

    def __repr__(self) -> str:
        return f"AwsKeys(access_key_id={self.access_key_id!r}, expires_at={self.expires_at!r})"
