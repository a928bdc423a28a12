"""The connector's own options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias, ConnectorOptions, option

Body = Literal["json-array", "ndjson", "single"]

CONTENT_TYPES: Mapping[str, str] = {
    "json-array": "application/json",
    "ndjson": "application/x-ndjson",
    "single": "application/json",
}

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110, 5.5: no line break, nothing beyond Latin-1

# What the connector and its client set themselves: two values of one header are a riddle for every server.
_OWN_HEADERS = {
    "connection": "the client sets it",
    "content-encoding": "set option 'compression'",
    "content-length": "the client sets it",
    "content-type": "set option 'contentType'",
    "host": "set it by option 'url'",
    "idempotency-key": "the connector sets it; idempotencyKey=false leaves the header to you",
    "transfer-encoding": "the client sets it",
}


@dataclass(frozen=True, kw_only=True)
class HttpOptions(ConnectorOptions):
    """Where requests go, what they look like and who sends them."""

    refused: ClassVar[Mapping[str, str]] = {
        "http.sink.writer.request.mode": "set body=json-array for Flink's 'batch', body=single for its 'single'",
        "http.sink.request.batch.size": "set maxBatchSize, the rows of a request",
        "http.sink.writer.thread-pool.size": "requests need no threads; set maxInFlightRequests",
        "http.sink.error.code": "a request counts as stored on 2xx only; the README lists what follows each status",
        "http.sink.error.code.exclude": "a request counts as stored on 2xx only; the README lists what follows "
        "each status",
        "http.security.cert.server": "set the environment variable SSL_CERT_FILE where the tasks run",
    }

    lent: ClassVar[Mapping[str, Alias]] = {"requestTimeout": Alias("http.sink.request.timeout", unit="s")}

    url: str = option(doc="Address that every request goes to, with the scheme http or https.")
    method: Literal["POST", "PUT", "PATCH"] = option("POST", doc="Method of every request.", aliases=["insert-method"])
    headers: Mapping[str, str] = option(
        prefix="header.",
        doc="A header of every request, such as header.X-Tenant=blue.",
        aliases=["http.sink.header."],
        secret=True,
    )
    body: Literal["json-array", "ndjson", "single"] = option(
        "json-array",
        doc="What a request carries: json-array the rows as [a,b], ndjson one row a line, single one row.",
    )
    content_type: str | None = option(
        None, doc="Content-Type; by default application/json, and application/x-ndjson for ndjson."
    )
    compression: Literal["none", "gzip"] = option("none", doc="Compression of the body; gzip works at level 1.")
    bearer_token: str | None = option(None, doc="Token of the header Authorization: Bearer.", secret=True)
    username: str | None = option(None, doc="Name for basic authentication; needs password too.")
    password: str | None = option(None, doc="Password for basic authentication; needs username too.", secret=True)
    idempotency_key: bool = option(
        True,
        doc="Send the header Idempotency-Key: the same value whenever the same rows are sent again as one request. "
        "With body=single it is made of the row's place and content, and Spark's replay of a micro-batch repeats it.",
    )
    connect_timeout_s: float = option(10.0, doc="Time for opening a connection, TLS included.", unit="s")

    def __post_init__(self) -> None:
        self._check_url()
        for name, value in self.headers.items():
            self._check_header(name, value)
        for option_name, text in (("contentType", self.content_type), ("bearerToken", self.bearer_token)):
            if text is not None:
                _check_header_value(option_name, text)
        self._check_auth()
        if self.connect_timeout_s <= 0:
            raise ConfigurationError(
                f"option 'connectTimeout' = {self.connect_timeout_s} must be larger than 0; give for example 10s"
            )

    @property
    def shown_url(self) -> str:
        """The URL as messages may show it: what stands in its query may be a secret."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(query="***" if parts.query else "", fragment=""))

    def __repr__(self) -> str:
        shown = {
            **self.__dict__,
            "url": self.shown_url,
            "headers": dict.fromkeys(self.headers, "***"),
            "bearer_token": self.bearer_token and "***",
            "password": self.password and "***",
        }
        return f"HttpOptions({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _check_url(self) -> None:
        parts = self._split_url()
        if parts.scheme.lower() not in ("http", "https"):
            raise ConfigurationError(
                f"option 'url' = {self._url_in_error()!r} has the scheme {_scheme(self.url)!r}; it must be http or "
                "https, as in https://api.example.com/rows"
            )
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(
                "option 'url' carries a user name or a password; give them as options 'username' and 'password'"
            )
        if not parts.hostname:
            raise ConfigurationError(
                f"option 'url' = {self._url_in_error()!r} names no host; write for example https://api.example.com/rows"
            )
        if re.search(r"[\x00-\x20\x7f]", self.url):
            raise ConfigurationError(
                f"option 'url' = {self._url_in_error()!r} holds white space; write %20 for a space, and nothing before "
                "or after the URL"
            )

    def _split_url(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018 - raises ValueError where it is no port
        except ValueError:
            # Neither the text nor the error, which quotes it: what stands for a port may be a password.
            raise ConfigurationError(
                f"option 'url', of scheme {_scheme(self.url)!r}, is no URL: its host or its port cannot be read; write "
                "for example https://api.example.com/rows"
            ) from None
        return parts

    def _url_in_error(self) -> str:
        """The URL without what may be a secret: a query, and all but the scheme where there may be user info."""
        if "@" in self.url:
            return f"{_scheme(self.url)}://***" if _scheme(self.url) else "***"
        shown = re.split(r"[?#]", self.url, maxsplit=1)[0]
        return re.sub(r":(?!//)(?!\d{1,5}(?:/|$))[^/]*", ":***", shown)

    def _check_header(self, name: str, value: str) -> None:
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError(f"option 'header.{name}' names no header; letters, digits and - are allowed")
        _check_header_value(f"header.{name}", value)
        remedy = _OWN_HEADERS.get(name.lower())
        if remedy is not None and (name.lower() != "idempotency-key" or self.idempotency_key):
            raise ConfigurationError(f"option 'header.{name}' is not for you to set: {remedy}")

    def _check_auth(self) -> None:
        if (self.username is None) != (self.password is None):
            given, missing = ("username", "password") if self.password is None else ("password", "username")
            raise ConfigurationError(f"option {given!r} is given without {missing!r}; basic authentication needs both")
        if self.username is not None and ":" in self.username:
            raise ConfigurationError("option 'username' holds a colon, which basic authentication cannot carry")
        ways = {
            "bearerToken": self.bearer_token is not None,
            "username": self.username is not None,
            "header.Authorization": any(name.lower() == "authorization" for name in self.headers),
        }
        given_ways = [f"'{name}'" for name, is_given in ways.items() if is_given]
        if len(given_ways) > 1:
            raise ConfigurationError(f"options {' and '.join(given_ways)} both say who sends; give one of them")


def _scheme(url: str) -> str:
    """What stands before ``://``; without that a colon may belong to a user's name and password."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    return found[1] if found else ""


def _check_header_value(option_name: str, value: str) -> None:
    if not _HEADER_VALUE.fullmatch(value):
        raise ConfigurationError(
            f"option '{option_name}' holds a line break or a character beyond Latin-1; a header allows neither"
        )
    if value != value.strip(" \t"):
        raise ConfigurationError(
            f"option '{option_name}' begins or ends with a blank, which no header can carry; take it away"
        )
