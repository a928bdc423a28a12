"""Schemes as users bring them, named by their import paths."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

import httpx


class Signed(httpx.Auth):
    """Signs body and headers as they go, as the schemes of clouds do."""

    requires_request_body = True

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        tenant = request.headers.get("x_tenant", "-")
        request.headers["X-Signed"] = f"{request.method} {request.url.path} {tenant} {request.content.decode()}"
        yield request


class TokenElsewhere(httpx.Auth):
    """Fetches a token from another host for every request, and again after a 401."""

    requires_response_body = True
    url = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        answer = yield httpx.Request("GET", self.url)
        request.headers["Authorization"] = f"Bearer {answer.json()['token']}"
        refused = yield request
        if refused.status_code == 401 and refused.text == "again":
            request.headers["Authorization"] = "Bearer second"
            yield request


class Asynchronous(httpx.Auth):
    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers["Authorization"] = "Own s3cret-scheme"
        yield request


class Astray(httpx.Auth):
    """Sends the request itself elsewhere."""

    url = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.url = httpx.URL(self.url)
        yield request


class Broken(httpx.Auth):
    error: Exception = KeyError("s3cret-token")

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        raise self.error
        yield request


class Silent(httpx.Auth):
    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        if request.method == "none that anybody sends":
            yield request


class WithArguments(httpx.Auth):
    def __init__(self, name: str) -> None:
        self.name = name


DIGEST = httpx.DigestAuth("Mufasa", "s3cret circle")
NO_AUTH = "a string"
