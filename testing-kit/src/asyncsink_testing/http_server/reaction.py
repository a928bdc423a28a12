"""What the server does with one request, as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import format_datetime
from typing import ClassVar, Literal

from asyncsink_testing.http_server.request import HttpRequest

Ending = Literal["keep", "close", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """Whether a request is stored, what is answered, when, and what becomes of the connection.

    A request is stored before any delay: a client that gives up too early has its data stored all the same. The class
    methods name the usual reactions; any other is a combination of the fields.

    :param status: the status that is answered
    :param headers: further headers of the answer
    :param body: the body of the answer
    :param stored: whether the request counts as stored
    :param delay_s: seconds before the answer; a client that goes away ends them
    :param held: the answer waits until :meth:`FaultyHttpServer.release` is called, or for ever
    :param answered_bytes: how much of the answer is sent; None for all of it, and below 0 for all but so many bytes
    :param ending: ``"keep"`` the connection, ``"close"`` it (FIN, without ``Connection: close`` before it), or
        ``"reset"`` it (RST)
    :param later: gives status, headers and body in place of those here, where another service is asked for them; it is
        awaited to its end, before everything else
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    stored: bool = True
    delay_s: float = 0.0
    held: bool = False
    answered_bytes: int | None = None
    ending: Ending = "keep"
    later: Callable[[], Awaitable[Reaction]] | None = None

    OK: ClassVar[Reaction]

    def __post_init__(self) -> None:
        if self.answered_bytes is not None and self.ending == "keep":
            raise ValueError(
                "a reaction that cuts its answer short must end the connection: give ending='close' or 'reset'"
            )

    @classmethod
    def refuse(cls, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reaction:
        """Answer `status` and store nothing."""
        return cls(status=status, body=body, headers=headers or {}, stored=False)

    @classmethod
    def throttle(cls, retry_after: float | datetime | str | None = None, status: int = 429) -> Reaction:
        """Answer 429 (or 503) with Retry-After as seconds, as an HTTP date or as the text given; store nothing."""
        if isinstance(retry_after, datetime):
            retry_after = format_datetime(retry_after, usegmt=True)
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return cls.refuse(status, headers=headers)

    @classmethod
    def drop_before_storing(cls, ending: Literal["close", "reset"] = "reset") -> Reaction:
        """Store nothing, answer nothing, end the connection."""
        return cls(stored=False, answered_bytes=0, ending=ending)

    @classmethod
    def drop_after_storing(cls, ending: Literal["close", "reset"] = "reset") -> Reaction:
        """Store the request, answer nothing, end the connection: the acknowledgement is lost."""
        return cls(answered_bytes=0, ending=ending)

    @classmethod
    def partial_answer(cls, answered_bytes: int = 20, ending: Literal["close", "reset"] = "reset") -> Reaction:
        """Store the request and end the connection after the first bytes of the answer."""
        return cls(body=b'{"result": "stored"}', answered_bytes=answered_bytes, ending=ending)

    @classmethod
    def close_after_answer(cls) -> Reaction:
        """Store and answer, then close the connection without a word, as servers do with idle ones."""
        return cls(ending="close")

    @classmethod
    def hang(cls, stored: bool = False) -> Reaction:
        """Answer nothing until :meth:`FaultyHttpServer.release` is called or the client goes away."""
        return cls(held=True, stored=stored)

    def after(self, delay_s: float) -> Reaction:
        """The same reaction, its answer `delay_s` seconds later."""
        return replace(self, delay_s=delay_s)


Reaction.OK = Reaction()

ReactionRule = Callable[[HttpRequest], Reaction]
"""Chooses a reaction by looking at the request; called in the server's event loop, in the order of arrival."""
