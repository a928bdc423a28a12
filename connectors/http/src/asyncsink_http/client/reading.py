"""Answers as httpcore hands them over, read up to a bound."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore

from asyncsink_http.answers.answer import HttpAnswer

# What breaks an answer off.
_ERRORS = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


async def read_answer(
    response: httpcore.Response, connection: httpcore.AsyncConnectionInterface, most_bytes: int, dropped_bytes: int
) -> HttpAnswer:
    """The answer with the beginning of its body.

    :param most_bytes: that are read of a body
    :param dropped_bytes: that are waited for beyond these, and dropped, before the connection is closed over them
    """
    body = bytearray()
    count = 0
    try:
        async for part in response.aiter_stream():
            count += len(part)
            if len(body) <= most_bytes:
                body += part
            if count > most_bytes + dropped_bytes:
                # The loop then ends by itself, with an error; leaving it would leave httpcore's generators half run.
                await connection.aclose()
    except _ERRORS:
        if count <= most_bytes + dropped_bytes:
            raise
    finally:
        await response.aclose()
    return HttpAnswer(
        response.status,
        response.extensions.get("reason_phrase", b"").decode("latin-1"),
        by_name(response.headers),
        bytes(body[:most_bytes]),
        is_cut=count > most_bytes,
        http_version=response.extensions["http_version"].decode("latin-1"),
    )


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; several of one name are joined."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
