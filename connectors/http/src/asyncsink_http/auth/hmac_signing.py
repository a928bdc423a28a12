"""Signatures: the body under a key that both sides know (RFC 2104)."""

from __future__ import annotations

import hmac
import time
from base64 import b64encode
from collections.abc import Callable

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.auth.authorizer import Authorizer, Send
from asyncsink_http.options import HttpOptions
from asyncsink_http.requests.request import HttpRequest


class HmacSigning:
    """Signs whatever another authorizer sends, each sending anew: the bytes of the body as they go, compressed.

    :param options: resolved ones with ``hmac.secret``
    :param clock: seconds since the epoch
    """

    def __init__(self, options: HttpOptions, inner: Authorizer, *, clock: Callable[[], float] = time.time) -> None:
        self._key = (options.hmac_secret or "").encode()
        self._options = options
        self._inner = inner
        self._clock = clock

    async def exchange(self, request: HttpRequest, send: Send) -> HttpAnswer:
        async def send_signed(unsigned: HttpRequest) -> HttpAnswer:
            return await send(self._signed(unsigned))

        return await self._inner.exchange(request, send_signed)

    def _signed(self, request: HttpRequest) -> HttpRequest:
        options = self._options
        if options.hmac_timestamp_header is None:
            return request.with_headers([self._header(request.body)])
        seconds = str(int(self._clock())).encode()
        stamp = (options.hmac_timestamp_header.encode(), seconds)
        return request.with_headers([stamp, self._header(seconds, b".", request.body)])

    def _header(self, *parts: bytes) -> tuple[bytes, bytes]:
        digest = hmac.new(self._key, digestmod=self._options.hmac_algorithm)
        for part in parts:
            digest.update(part)
        is_hex = self._options.hmac_encoding == "hex"
        written = digest.hexdigest().encode() if is_hex else b64encode(digest.digest())
        return self._options.hmac_header.encode(), self._options.hmac_prefix.encode("latin-1") + written
