"""Whom a row goes to, where that depends on the row."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """Method, address and headers of the requests that a row may share: its route.

    `headers` are those that come of rows alone; what every request has is not repeated here.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
