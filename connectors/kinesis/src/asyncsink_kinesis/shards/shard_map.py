"""The shards of a stream, as far as the client knows, and how it notices that they have changed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio

from asyncsink.errors import AsyncSinkError
from asyncsink_kinesis.shards.ranges import ShardRanges
from asyncsink_kinesis.shards.shard import Shard

logger = logging.getLogger(__name__)

REFRESH_EVERY_S = 10.0
"""The shortest time between the beginnings of two refreshes: a split takes the service half a minute."""
REFRESH_TIMEOUT_S = 10.0


class ShardMap(ShardRanges):
    """The open shards of a stream by their ranges of hash keys, refreshed when an answer names another.

    A map that is out of date does no harm: the service finds the shard of a record by itself, and only the limits of
    the old shard are applied to it. A failing refresh leaves the map as it is, with a warning.

    :param list_open: lists the open shards; raises an :class:`AsyncSinkError` or an OSError where it cannot
    :param shards: what it gave just now
    :raises ValueError: some hash key is held by none of these
    """

    def __init__(self, list_open: Callable[[], Awaitable[Sequence[Shard]]], shards: Sequence[Shard]) -> None:
        self._list_open = list_open
        self._under_way: anyio.Event | None = None
        self._is_old = False
        self._next_refresh_s = float("-inf")
        super().__init__(shards)

    @classmethod
    async def read(cls, list_open: Callable[[], Awaitable[Sequence[Shard]]]) -> ShardMap:
        """The map of a stream as it is now; raises what `list_open` raises."""
        return cls(list_open, await list_open())

    def now(self) -> ShardRanges:
        """The shards as they are known now, which no refresh changes."""
        return ShardRanges(self._shards)

    def knows(self, shard_ids: Iterable[str]) -> bool:
        """Whether all of these are open, as far as the map knows."""
        return self._by_id.keys() >= set(shard_ids)

    def learned(self, places: Iterable[str | None]) -> None:
        """Hear of the shards that an answer names, None for a refused record.

        One that is not known to be open has come by a resharding.
        """
        self._is_old = self._is_old or not self.knows(place for place in places if place is not None)

    async def catch_up(self) -> None:
        """Read the map anew if an answer has named another shard, unless that is under way.

        To be called ahead of a request: behind it, what is stored would wait for the listing to be acknowledged.
        """
        if self._is_old and self._under_way is None:
            await self.refresh()

    async def refresh(self) -> None:
        """Read the map anew, unless that was begun within the last 10 s; waits for a refresh that is under way.

        It happens in the task that asks for it, so that nothing outlives a writer.
        """
        if self._under_way is not None:
            await self._under_way.wait()
        elif anyio.current_time() >= self._next_refresh_s:
            self._next_refresh_s = anyio.current_time() + REFRESH_EVERY_S
            self._is_old = False
            self._under_way = anyio.Event()
            try:
                await self._read_anew()
            finally:
                self._under_way.set()
                self._under_way = None

    async def _read_anew(self) -> None:
        before = self._by_id.keys()
        try:
            # aiobotocore's clients expect to be cancelled once, not at every await: theirs is a deadline of our own.
            with anyio.fail_after(REFRESH_TIMEOUT_S, shield=True):
                self._set(await self._list_open())
        except (AsyncSinkError, OSError, ValueError) as error:
            logger.warning("the shards could not be listed, those known before are used: %s", error)
            return
        gone, new = before - self._by_id.keys(), self._by_id.keys() - before
        if gone or new:
            logger.info("the stream was resharded: %d shards are closed, %d are new", len(gone), len(new))
