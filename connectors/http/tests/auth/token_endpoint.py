"""A token endpoint and an API that heeds its tokens, as rules for the kit's server."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable
from urllib.parse import parse_qs, unquote_plus

from asyncsink_testing import Reaction
from asyncsink_testing.http_server import HttpRequest

CLIENT = ("our client", "s3cret:?&é")


class TokenEndpoint:
    """Gives T1, T2 ... to the one client it knows, before that what a script says."""

    def __init__(self, script: Iterable[Reaction] = (), expires_in: object = 3600) -> None:
        self.issued = 0
        self.expires_in = expires_in
        self.forms: list[dict[str, str]] = []
        self._script = list(script)

    def __call__(self, request: HttpRequest) -> Reaction:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        self.forms.append(form)
        if self._script:
            return self._script.pop(0)
        if _client(request, form) != CLIENT or form["grant_type"] != "client_credentials":
            return Reaction.refuse(401, b'{"error": "invalid_client"}')
        self.issued += 1
        answer = {"access_token": f"T{self.issued}-{'x' * 20}", "token_type": "bearer", "expires_in": self.expires_in}
        return Reaction(body=json.dumps(answer).encode())


class Api:
    """Takes rows from whoever shows the token in force."""

    def __init__(self, token: str) -> None:
        self.token = token

    def __call__(self, request: HttpRequest) -> Reaction:
        shown = request.headers.get("authorization")
        return Reaction.OK if shown == f"Bearer {self.token}" else Reaction.refuse(401, b"who are you?")


def token(number: int) -> str:
    return f"T{number}-{'x' * 20}"


def _client(request: HttpRequest, form: dict[str, str]) -> tuple[str, str]:
    scheme, _, basic = request.headers.get("authorization", "").partition(" ")
    if scheme != "Basic":
        return form.get("client_id", ""), form.get("client_secret", "")
    name, _, secret = b64decode(basic).decode().partition(":")
    return unquote_plus(name), unquote_plus(secret)
