"""From the entries of a request to the request."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsink.request import RequestEntries
from asyncsink_http.bodies.body import Body
from asyncsink_http.bodies.compression import compressed
from asyncsink_http.entries.entry import HttpEntry
from asyncsink_http.entries.target import Target
from asyncsink_http.entries.targets import default_target
from asyncsink_http.options import HttpOptions
from asyncsink_http.requests.idempotency import request_key
from asyncsink_http.requests.request import Header, HttpRequest


class RequestBuilder:
    """Makes requests without credentials: the options' headers, which may hold some, are added with these.

    :param is_repeated: whether a replay repeats the ids of requests, as it does with batching=deterministic
    """

    def __init__(self, options: HttpOptions, body: Body, *, is_repeated: bool = False) -> None:
        self._options = options
        self._body = body
        self._is_repeated = is_repeated
        self._headers = tuple(_headers())
        self._body_headers = tuple(_body_headers(options, body))
        self._target = default_target(options)

    def build(self, entries: RequestEntries[HttpEntry]) -> HttpRequest:
        """The request for `entries`; the same bytes whenever they are sent again."""
        options, route = self._options, entries.route
        target = route if isinstance(route, Target) else self._target
        # RFC 9110, 9.3.5: the content of a DELETE has no meaning, and some servers refuse the request for it.
        has_body = target.method != "DELETE"
        body = self._body.encode(entries) if has_body else b""
        headers = (*self._headers, *self._body_headers) if has_body else self._headers
        if options.idempotency_key:
            key = request_key(entries, body, is_repeated=self._is_repeated)
            headers = (*headers, (b"Idempotency-Key", key.encode()))
        if has_body:
            body = compressed(body, options.compression, options.compression_level)
        request = HttpRequest(target.method, target.url, headers, body, entries.id, entries.attempt, len(entries))
        return request.with_headers([_encoded(*each) for each in target.headers]) if target.headers else request


def _headers() -> Iterator[Header]:
    # Error texts are read as they come: nothing is unpacked that a server may have packed a thousandfold.
    yield b"Accept-Encoding", b"identity"
    yield b"User-Agent", b"asyncsink-http"


def _body_headers(options: HttpOptions, body: Body) -> Iterator[Header]:
    """What tells the server how to read the body."""
    yield _encoded("Content-Type", options.content_type or body.content_type)
    if options.compression != "none":
        yield _encoded("Content-Encoding", options.compression)


def _encoded(name: str, value: str) -> Header:
    return name.encode("latin-1"), value.encode("latin-1")
