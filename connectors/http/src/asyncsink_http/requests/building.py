"""From the entries of a request to the request."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsink.request import RequestEntries
from asyncsink_http.bodies.body import Body
from asyncsink_http.bodies.compression import compressed
from asyncsink_http.entries.entry import HttpEntry
from asyncsink_http.options import HttpOptions
from asyncsink_http.requests.idempotency import request_key
from asyncsink_http.requests.request import Header, HttpRequest


class RequestBuilder:
    """Makes requests without credentials: the options' headers, which may hold some, are added with these."""

    def __init__(self, options: HttpOptions, body: Body) -> None:
        self._options = options
        self._body = body
        self._headers = tuple(_headers(options, body))

    def build(self, entries: RequestEntries[HttpEntry]) -> HttpRequest:
        """The request for `entries`; the same bytes whenever they are sent again."""
        options = self._options
        headers = self._headers
        if options.idempotency_key:
            headers = (*headers, (b"Idempotency-Key", request_key(entries).encode()))
        body = compressed(self._body.encode(entries), options.compression)
        return HttpRequest(options.method, options.url, headers, body, entries.id, entries.attempt, len(entries))


def _headers(options: HttpOptions, body: Body) -> Iterator[Header]:
    # Error texts are read as they come: nothing is unpacked that a server may have packed a thousandfold.
    yield b"Accept-Encoding", b"identity"
    yield b"Content-Type", (options.content_type or body.content_type).encode("latin-1")
    yield b"User-Agent", b"asyncsink-http"
    if options.compression != "none":
        yield b"Content-Encoding", options.compression.encode()
