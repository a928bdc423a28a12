"""Whom a row goes to, where that depends on the row."""

from __future__ import annotations

import json
from typing import NamedTuple, Self

from asyncsink_http.urls import shown_url


class Target(NamedTuple):
    """Method, address and headers of the requests that a row may share: its route.

    `headers` are those that come of rows alone; what every request has is not repeated here.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()

    def packed(self) -> bytes:
        """The target as JSON, the same bytes whenever it is packed."""
        return json.dumps(self).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """What :meth:`packed` gave.

        :raises ValueError: these bytes are no target's
        :raises TypeError: they are JSON of another kind
        """
        method, url, headers = json.loads(data)
        return cls(method, url, tuple((name, value) for name, value in headers))

    def __repr__(self) -> str:
        # What stands in a query or a header may be secret, of an option's template as of a row.
        names = ", ".join(name for name, _ in self.headers)
        return f"<Target {self.method} {shown_url(self.url)}{f' with {names}' if names else ''}>"
