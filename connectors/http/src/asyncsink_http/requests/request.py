"""A request, before credentials are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asyncsink_http.urls import shown_url

Header = tuple[bytes, bytes]
"""Name and value of a header: in Latin-1, which text of other kinds cannot be written in."""


@dataclass(frozen=True, slots=True, repr=False)
class HttpRequest:
    """What is sent for some entries. Who sends is added later, so that whoever reads it learns no secret.

    :param id: of the entries, as :attr:`~asyncsink.RequestEntries.id`: the same whenever they are sent again
    :param attempt: how often they have been sent, this time included
    :param rows: how many entries there are
    """

    method: str
    url: str
    headers: tuple[Header, ...]
    body: bytes
    id: str
    attempt: int
    rows: int

    def with_headers(self, more: Sequence[Header]) -> HttpRequest:
        """This request with more headers, which take the place of those of the same name."""
        names = {name.lower() for name, _ in more}
        return replace(self, headers=(*(each for each in self.headers if each[0].lower() not in names), *more))

    def __repr__(self) -> str:
        # Neither what the headers hold nor the rows: both may be secret.
        return (
            f"<HttpRequest {self.method} {shown_url(self.url)}, {self.rows} rows, {len(self.body)} bytes, "
            f"id={self.id!r}, attempt={self.attempt}>"
        )
