"""A proxy in front of Kafka's brokers that knows their protocol, and misbehaves as it is told."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack, ExitStack
from typing import Self

import anyio

from asyncsink_testing.kafka.connection import Connection
from asyncsink_testing.kafka.produce import ProduceRequest
from asyncsink_testing.kafka.reaction import React, Reaction
from asyncsink_testing.kafka.rewriting import Address
from asyncsink_testing.ports import HOST
from asyncsink_testing.sockets import TaskOwner, accept
from asyncsink_testing.tcp_proxy.endpoint import Endpoint, bind

_BACKLOG = 128


class KafkaProxy(TaskOwner):
    """Listens once for each broker, on loopback, and hands out its own addresses in place of the brokers'.

    Clients are told of no flexible version of the requests that it reads, so every client that asks for versions can
    use it: aiokafka, librdkafka and Java do. It reads no TLS.

    :param bootstrap: of the cluster, ``host:port,...``, or of several; brokers that only others tell of are found on
        the way
    :param react: decides about each Produce request
    :ivar failures: what was not understood, and so ended a connection
    """

    def __init__(self, bootstrap: str, react: React = lambda request: Reaction()) -> None:
        self._react = react
        self._known = [_address(each) for each in bootstrap.split(",")]
        self._doors: dict[Address, Address] = {}
        self.failures: list[str] = []
        self.open_connections = 0
        self.in_flight = 0
        self.peak_in_flight = 0

    @property
    def bootstrap(self) -> str:
        """The addresses that stand for those of the cluster's own bootstrap."""
        return ",".join("{}:{}".format(*self.moved(each)) for each in self._known)

    def stands_for(self, bootstrap: str) -> str:
        """The addresses for these brokers, where they are those of one cluster of several."""
        return ",".join("{}:{}".format(*self.moved(_address(each))) for each in bootstrap.split(","))

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._listeners = stack.enter_context(ExitStack())
            self._group = await stack.enter_async_context(anyio.create_task_group())
            for each in self._known:
                self.moved(each)
            self._stack = stack.pop_all()
        return self

    def react(self, request: ProduceRequest) -> Reaction:
        return self._react(request)

    def moved(self, broker: Address) -> Address:
        """Where clients find this broker; a door is opened for one that is new."""
        if broker not in self._doors:
            listener = self._listeners.enter_context(bind(HOST, 0))
            listener.listen(_BACKLOG)
            self._doors[broker] = (HOST, listener.getsockname()[1])
            self._group.start_soon(self._accept, listener, broker)
        return self._doors[broker]

    def began(self) -> None:
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)

    def ended(self) -> None:
        self.in_flight -= 1

    async def _accept(self, listener: socket.socket, broker: Address) -> None:
        while True:
            client = Endpoint(await accept(listener))
            self.open_connections += 1
            self._group.start_soon(self._serve, Connection(client, broker, self))

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.serve()
        finally:
            self.open_connections -= 1
            if connection.failure is not None:
                self.failures.append(connection.failure)


def _address(text: str) -> Address:
    host, _, port = text.strip().rpartition(":")
    return host, int(port)
