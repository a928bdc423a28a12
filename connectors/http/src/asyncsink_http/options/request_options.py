"""Options of requests: where they go, by which method, and their headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.header_rules import CREDENTIAL_HEADERS, check_header_name, check_header_value
from asyncsink_http.templates.encoders import TEXT
from asyncsink_http.templates.template import Template
from asyncsink_http.templates.url_template import url_template
from asyncsink_http.urls import AllowedUrls, allowed_urls, is_host, scheme_of, shown_unread_url, shown_url

METHODS: Final = ("POST", "PUT", "PATCH", "DELETE")

_ONE_ROW = ("single", "form", "raw")


@dataclass(frozen=True, kw_only=True)
class RequestOptions(ConnectorOptions):
    """Address, method and headers of requests: the same for all, or templates over the columns of rows."""

    url: str = option(
        doc="Address that requests go to, with the scheme http or https. {column} in its path or query is the value of "
        "a column, as in https://api.example.com/orders/{id}; {{ and }} are braces.",
        aliases=["uri", "http.api.url"],
    )
    method: str = option(
        "POST",
        doc="Method of requests: POST, PUT, PATCH or DELETE, or {column} for a column that holds one of them.",
        aliases=["insert-method", "verb", "http_method", "request.method"],
    )
    headers: Mapping[str, str] = option(
        prefix="header.",
        doc="A header of every request, such as header.X-Tenant=blue, or header.X-Tenant={tenant} for the value of a "
        "column.",
        aliases=["http.sink.header.", "request.headers."],
        secret=True,
    )
    url_allow: str | None = option(
        None,
        doc="Addresses, divided by commas, under which a column url may lead, beside the host of the option url, as in "
        "https://eu.example.com,https://us.example.com/in. Each host has limits of its own then.",
    )
    body_exclude: str | None = option(
        None, doc="Columns, divided by commas, that are no part of the body, such as those of a template."
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

    @property
    def url_template(self) -> Template:
        return url_template(self.url)

    @property
    def method_template(self) -> Template:
        return Template.parse("method", self.method, TEXT)

    @property
    def header_templates(self) -> Mapping[str, Template]:
        """The headers that depend on the row."""
        return {name: made for name, made in self._headers().items() if made.columns}

    @property
    def fixed_headers(self) -> Mapping[str, str]:
        """The headers that are the same for all rows."""
        return {name: made.literal for name, made in self._headers().items() if not made.columns}

    @property
    def has_templates(self) -> bool:
        """Whether options alone make rows differ in whom they go to, or how."""
        return bool(self.url_template.columns or self.method_template.columns or self.header_templates)

    @property
    def allowed_urls(self) -> AllowedUrls:
        """Where a column may lead: to the host of the option ``url``, and under the addresses of ``urlAllow``."""
        return allowed_urls(self.url_template.literal, _listed(self.url_allow))

    @property
    def excluded_columns(self) -> list[str]:
        return _listed(self.body_exclude)

    @property
    def default_body(self) -> Literal["json-array", "single"]:
        """The body that suits the method: one row where an address is that row's place, or where there is no body.

        A DELETE carries none, so that its rows cannot share a request; a PUT of an array would put that into the place.
        """
        is_placed = self.method in ("PUT", "PATCH") and self.url_template.columns
        return "single" if is_placed or self.method == "DELETE" or self.method_template.columns else "json-array"

    def check_deletes(self, body: str | None) -> None:
        """:raises ConfigurationError: rows cannot be told apart without the body that a DELETE does not carry"""
        if self.method == "DELETE" and body not in (None, *_ONE_ROW):
            raise ConfigurationError(
                f"option 'method' = 'DELETE' carries no body, and body={body} puts many rows into one; leave body out, "
                "and write the columns that tell rows apart into url, as in https://api.example.com/orders/{id}"
            )

    def check_request(self) -> None:
        """:raises ConfigurationError: the URL, the method or a header breaks its rule"""
        self._check_url()
        object.__setattr__(self, "method", self._checked_method())
        for name in self.headers:
            check_header_name(name, idempotency_key=self.idempotency_key)
        for name, made in self._headers().items():
            # The value of a column is looked at when it is there; letters stand for it.
            check_header_value(f"header.{name}", made.with_columns_as("x"))

    def _headers(self) -> dict[str, Template]:
        return {name: _header_template(name, value) for name, value in self.headers.items()}

    def _checked_method(self) -> str:
        made = self.method_template
        if made.is_one_column:
            return self.method
        method = made.literal.strip().upper()
        if made.columns or method not in METHODS:
            raise ConfigurationError(
                f"option 'method' = {self.method!r} must be {' or '.join(map(repr, METHODS))}, or a column that holds "
                "one of them in each row, as in '{operation}'"
            )
        return method

    def _check_url(self) -> None:
        # As letters, which may stand wherever the value of a column may.
        plain = url_template(self.url).with_columns_as("x")
        parts = self._split_url(plain)
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
        if re.search(r"[\x00-\x20\x7f]", plain):
            raise ConfigurationError(
                f"option 'url' = {shown_unread_url(self.url)!r} holds white space; write %20 for a space, and nothing "
                "before or after the URL"
            )
        allowed_urls(plain, _listed(self.url_allow))

    def _split_url(self, url: str) -> SplitResult:
        try:
            parts = urlsplit(url)
            if parts.port == 0 or (parts.hostname and not is_host(parts.hostname)):
                raise ValueError("nobody listens there")
        except ValueError:
            # Neither the text nor the error, which quotes it: what stands for a port may be a password.
            raise ConfigurationError(
                f"option 'url', of scheme {scheme_of(self.url)!r}, is no URL: its host or its port cannot be read; "
                "write for example https://api.example.com/rows"
            ) from None
        return parts


def _header_template(name: str, value: str) -> Template:
    option_name = f"header.{name}"
    if name.lower() in CREDENTIAL_HEADERS:
        # Never a template: no row may have a say in who sends, and a brace in a password is a brace.
        return Template(option_name, (value,), is_secret=True)
    return Template.parse(option_name, value, TEXT, is_secret=True)


def _listed(text: str | None) -> list[str]:
    return [each for part in (text or "").split(",") if (each := part.strip())]
