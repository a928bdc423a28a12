"""A TCP proxy on loopback that stands before a real service and makes its connections misbehave.

In a test that has an event loop::

    async with FaultyTcpProxy(("127.0.0.1", 9092)) as proxy:
        ...  # send to proxy.address
        proxy.script(TcpFault.lose_answer())
        ...  # the next request is stored, and its answer is lost
        async with proxy.outage():
            ...  # nobody listens

Without one, as in a test that runs Spark, in a thread of its own::

    with proxying(("127.0.0.1", 9092)) as proxy:
        ...
"""

from __future__ import annotations

from asyncsink_testing.tcp_proxy.blocking import BlockingTcpProxy, proxying
from asyncsink_testing.tcp_proxy.fault import TcpFault
from asyncsink_testing.tcp_proxy.proxy import FaultyTcpProxy
from asyncsink_testing.tcp_proxy.traffic import Traffic

__all__ = ["BlockingTcpProxy", "FaultyTcpProxy", "TcpFault", "Traffic", "proxying"]
