"""The header Authorization with a token that may change."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.auth.authorizer import Send
from asyncsink_http.auth.tokens import Tokens
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import Header, HttpRequest


class BearerTokens:
    """Adds the present token; a request that is answered 401 is sent once more if there is another by then.

    :param headers: that are added to every request beside it
    :param scheme: what stands before the token
    """

    def __init__(self, tokens: Tokens, headers: Sequence[Header], scheme: str, redaction: Redaction) -> None:
        self._tokens = tokens
        self._headers = tuple(headers)
        self._scheme = scheme
        self._redaction = redaction
        self._learned = ""

    async def exchange(self, request: HttpRequest, send: Send) -> HttpAnswer:
        token = await self._tokens.token()
        answer = await send(self._with(token, request))
        if answer.status != HTTPStatus.UNAUTHORIZED:
            return answer
        other = await self._tokens.instead_of(token)
        return answer if other is None else await send(self._with(other, request))

    def _with(self, token: str, request: HttpRequest) -> HttpRequest:
        if token != self._learned:
            self._redaction.learn(token)
            self._learned = token
        header = (b"Authorization", f"{self._scheme} {token}".encode("latin-1"))
        return request.with_headers((header, *self._headers))
