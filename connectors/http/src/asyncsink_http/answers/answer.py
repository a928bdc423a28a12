"""What the server answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class HttpAnswer:
    """What the server answered to a request.

    :param headers: by their names in lower case; several of one name are joined by commas
    :param body: as it came, up to the bytes that are read of an answer
    :param is_cut: whether there was more of it
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False
    http_version: str = "HTTP/1.1"

    @property
    def text(self) -> str:
        """The body as text, whatever it is."""
        return self.body.decode(errors="replace")

    def __repr__(self) -> str:
        # What a server repeats of a request may be a secret.
        return f"<HttpAnswer {self.http_version} {self.status}, {len(self.body)} bytes>"
