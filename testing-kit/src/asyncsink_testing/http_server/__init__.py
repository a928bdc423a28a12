"""A real HTTP/1.1 server on loopback that misbehaves as it is told.

In a test that has an event loop::

    async with FaultyHttpServer([Reaction.throttle(1), Reaction.drop_after_storing()]) as server:
        ...  # send to server.url
    assert [request.stored for request in server.received] == [False, True, True]

Without one, as in a test that runs Spark, in a thread of its own::

    with serving(rule) as server:
        ...
"""

from __future__ import annotations

from asyncsink_testing.http_server.reaction import Reaction, ReactionRule
from asyncsink_testing.http_server.request import HttpRequest, ReceivedRequest
from asyncsink_testing.http_server.server import FaultyHttpServer, serving

__all__ = ["FaultyHttpServer", "HttpRequest", "Reaction", "ReactionRule", "ReceivedRequest", "serving"]
