"""New sessions before the old ones end (KIP-368), which aiokafka 0.14 does not know.

A broker closes a connection on which a request comes after the end of its session: after
``connections.max.reauth.ms``, or when the token expires. Here each connection is replaced before that. When somebody
wants a connection whose session nears its end, a new one is opened and authenticated, later requests go there, and
the old one is closed once the last answer has come. So no request is cut, and none is sent twice. aiokafka never has
two produce requests of one broker under way, so nothing overtakes either.

There is no task for it: a connection that nobody wants needs no session. All that is private in aiokafka and used
for this is looked at by :mod:`asyncsink_kafka.security.renewal` before this module is imported.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import anyio
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaError, StaleMetadata

from asyncsink.errors import RequestError
from asyncsink_kafka.security.failures import authentication_refusal
from asyncsink_kafka.security.renewal import SETTINGS
from asyncsink_kafka.security.sessions import SessionConnection

# After a failure to open a new session while the old one still holds.
_AGAIN_AFTER_S = 1.0

_Place: TypeAlias = tuple[Any, ConnectionGroup]

_log = logging.getLogger(__name__)


class _Retired(NamedTuple):
    """In place of a node's id: a connection that gets no more requests."""

    number: int


class Sessions:
    """The connections of one client: in its own dictionary, so that its ``close`` finds all of them."""

    def __init__(
        self, client: AIOKafkaClient, refused: Callable[[RequestError], None] | None, clock: Callable[[], float]
    ) -> None:
        self._client = client
        self._refused = refused
        self._clock = clock
        self._locks: defaultdict[_Place, anyio.Lock] = defaultdict(anyio.Lock)
        self._numbers = count()
        self._said: dict[_Place, str] = {}

    async def connection(
        self, node_id: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT, no_hint: bool = False
    ) -> AIOKafkaConnection | None:
        """Stand in for ``_get_conn``: None, and a new look at the metadata, where there is no connection to be had."""
        place = (node_id, group)
        self._forget_retired()
        if (current := self._current(place)) is not None:
            return current
        async with self._locks[place]:
            # Who waited here finds what the one before has opened.
            if (current := self._current(place)) is not None:
                return current
            try:
                opened = await self._open(node_id)
            except (OSError, TimeoutError, KafkaError) as error:
                return self._without(place, error)
            self._said.pop(place, None)
            self._retire(place)
            self._client._conns[place] = opened
            return opened

    def _current(self, place: _Place) -> AIOKafkaConnection | None:
        """The connection in use, unless there is none or it is time for another."""
        connection = self._client._conns.get(place)
        if connection is None or not connection.connected() or getattr(connection, "is_due", False):
            return None
        return connection

    async def _open(self, node_id: Any) -> SessionConnection:
        client = self._client
        if (broker := client.cluster.broker_metadata(node_id)) is None:
            raise StaleMetadata(f"Broker id {node_id} not in current metadata")
        settings = {parameter: getattr(client, attribute) for attribute, parameter in SETTINGS.items()}
        connection = SessionConnection(broker.host, broker.port, clock=self._clock, **settings)
        await connection.connect()
        return connection

    def _without(self, place: _Place, error: Exception) -> AIOKafkaConnection | None:
        """What is left where none could be opened: the old connection, as long as its session holds."""
        old = self._client._conns.get(place)
        if isinstance(old, SessionConnection) and old.connected() and not old.has_expired:
            _log.warning("no new session with broker %s, the present one goes on for now: %s", place[0], error)
            old.postpone(_AGAIN_AFTER_S)
            return old
        # Once for each broker and reason: every request tries again.
        level = logging.DEBUG if self._said.get(place) == str(error) else logging.WARNING
        _log.log(level, "cannot connect to broker %s: %s", place[0], error)
        self._said[place] = str(error)
        if self._refused is not None and (refusal := authentication_refusal(error)) is not None:
            self._refused(refusal)
        self._client.force_metadata_update()
        return None

    def _retire(self, place: _Place) -> None:
        """Put the connection in use aside, which closes when its last answer has come."""
        old = self._client._conns.pop(place, None)
        if old is not None and old.connected():
            self._client._conns[_Retired(next(self._numbers)), place[1]] = old
            old.retire()

    def _forget_retired(self) -> None:
        """Let go of those that have closed."""
        connections = self._client._conns
        for place in [each for each in connections if isinstance(each[0], _Retired)]:
            if not connections[place].connected():
                del connections[place]
