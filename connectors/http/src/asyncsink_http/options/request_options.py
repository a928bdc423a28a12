"""Options of requests: where they go, by which method, and their headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.header_rules import check_header_name, check_header_value
from asyncsink_http.urls import scheme_of, shown_unread_url, shown_url


@dataclass(frozen=True, kw_only=True)
class RequestOptions(ConnectorOptions):
    """Address, method and headers of every request."""

    url: str = option(doc="Address that every request goes to, with the scheme http or https.")
    method: Literal["POST", "PUT", "PATCH"] = option("POST", doc="Method of every request.", aliases=["insert-method"])
    headers: Mapping[str, str] = option(
        prefix="header.",
        doc="A header of every request, such as header.X-Tenant=blue.",
        aliases=["http.sink.header."],
        secret=True,
    )
    idempotency_key: bool = option(
        True,
        doc="Send the header Idempotency-Key: the same value whenever the same rows are sent again as one request. "
        "With body=single it is made of the row's place and content, and Spark's replay of a micro-batch repeats it.",
    )

    @property
    def shown_url(self) -> str:
        """The URL as messages may show it: what stands in its query may be a secret."""
        return shown_url(self.url)

    def check_request(self) -> None:
        """:raises ConfigurationError: the URL or a header breaks its rule"""
        self._check_url()
        for name, value in self.headers.items():
            check_header_name(name, idempotency_key=self.idempotency_key)
            check_header_value(f"header.{name}", value)

    def _check_url(self) -> None:
        parts = self._split_url()
        if parts.scheme.lower() not in ("http", "https"):
            raise ConfigurationError(
                f"option 'url' = {shown_unread_url(self.url)!r} has the scheme {scheme_of(self.url)!r}; it must be "
                "http or https, as in https://api.example.com/rows"
            )
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(
                "option 'url' carries a user name or a password; give them as options 'username' and 'password'"
            )
        if not parts.hostname:
            raise ConfigurationError(
                f"option 'url' = {shown_unread_url(self.url)!r} names no host; write for example "
                "https://api.example.com/rows"
            )
        if re.search(r"[\x00-\x20\x7f]", self.url):
            raise ConfigurationError(
                f"option 'url' = {shown_unread_url(self.url)!r} holds white space; write %20 for a space, and nothing "
                "before or after the URL"
            )

    def _split_url(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018 - raises ValueError where it is no port
        except ValueError:
            # Neither the text nor the error, which quotes it: what stands for a port may be a password.
            raise ConfigurationError(
                f"option 'url', of scheme {scheme_of(self.url)!r}, is no URL: its host or its port cannot be read; "
                "write for example https://api.example.com/rows"
            ) from None
        return parts
