"""Which shard a record goes to, as far as the client knows."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import anyio
import numpy as np
import numpy.typing as npt

from asyncsink.errors import AsyncSinkError
from asyncsink_kinesis.shards.hash_keys import explicit_hash_key, hash_key, hash_key_of
from asyncsink_kinesis.shards.shard import Shard

logger = logging.getLogger(__name__)

REFRESH_EVERY_S = 10.0
"""The shortest time between the beginnings of two refreshes: a split takes the service half a minute."""
REFRESH_TIMEOUT_S = 10.0

Indices = npt.NDArray[np.int64]


class ShardMap:
    """The open shards of a stream by their ranges of hash keys, refreshed when an answer names another.

    A map that is out of date does no harm: the service finds the shard of a record by itself, and only the limits of
    the old shard are applied to it. A failing refresh leaves the map as it is, with a warning.

    :param list_open: lists the open shards; raises an :class:`AsyncSinkError` or an OSError where it cannot
    :param shards: what it gave just now
    :raises ValueError: there is no shard
    """

    def __init__(self, list_open: Callable[[], Awaitable[Sequence[Shard]]], shards: Sequence[Shard]) -> None:
        self._list_open = list_open
        self._under_way: anyio.Event | None = None
        self._next_refresh_s = float("-inf")
        self._set(shards)

    @classmethod
    async def read(cls, list_open: Callable[[], Awaitable[Sequence[Shard]]]) -> ShardMap:
        """The map of a stream as it is now; raises what `list_open` raises."""
        return cls(list_open, await list_open())

    def _set(self, shards: Sequence[Shard]) -> None:
        if not shards:
            raise ValueError("the stream has no open shard; wait until it is ACTIVE")
        self._shards = sorted(shards, key=lambda each: each.start)
        self._by_id = {each.id: each for each in self._shards}
        self._ids = [each.id for each in self._shards]
        self._starts = [each.start.to_bytes(16, "big") for each in self._shards]
        self._array = np.array(self._starts, dtype="S16")

    # ---- where records go ------------------------------------------------------------------------------------

    @property
    def shards(self) -> Sequence[Shard]:
        """The open shards, in order of their hash keys."""
        return tuple(self._shards)

    def shard(self, shard_id: str) -> Shard | None:
        """The open shard of that name, if the map has it."""
        return self._by_id.get(shard_id)

    def shard_of(self, partition_key: str, explicit: str | None = None) -> str:
        """The id of the shard that takes a record with this key.

        :raises ValueError: the explicit hash key is none
        """
        # Before the first range there is nothing, unless a listing in the middle of a resharding has a hole there.
        return self._ids[max(0, bisect_right(self._starts, hash_key(partition_key, explicit)) - 1)]

    def shards_of(self, keys: Any, hashes: Any = None) -> tuple[list[str], Indices]:
        """The shards of many records: distinct ids, and for each record the index of its own; each key hashed once.

        :param keys: partition keys, a sequence of strings or an Arrow array
        :param hashes: explicit hash keys in the same form, null for none; None where no record has one
        :raises ValueError: an explicit hash key is none
        """
        if hashes is None:
            return self._ids, self._of_keys(keys)
        texts, given = _distinct(hashes)
        explicit = given >= 0
        own = self._places([*map(explicit_hash_key, texts)])
        if explicit.all():
            return self._ids, own[given]
        found = self._of_keys(keys)
        found[explicit] = own[given[explicit]]
        return self._ids, found

    def _of_keys(self, keys: Any) -> Indices:
        names, given = _distinct(keys)
        return self._places([*map(hash_key_of, names)])[given]

    def _places(self, hash_keys: list[bytes]) -> Indices:
        # numpy pads shorter bytes with zeros and cuts zeros off at the end, so that 16 bytes compare exactly.
        values = np.frombuffer(b"".join(hash_keys), dtype="S16")
        return np.maximum(np.searchsorted(self._array, values, side="right") - 1, 0)

    # ---- how the map is kept ---------------------------------------------------------------------------------

    def knows(self, shard_ids: Iterable[str]) -> bool:
        """Whether all of these are open, as far as the map knows."""
        return self._by_id.keys() >= set(shard_ids)

    async def learned(self, shard_ids: Iterable[str]) -> None:
        """Hear of the shards that an answer names; one that is not known to be open has come by a resharding."""
        if self._under_way is None and not self.knows(shard_ids):
            await self.refresh()

    async def refresh(self) -> None:
        """Read the map anew, unless that was begun within the last 10 s; waits for a refresh that is under way.

        It happens in the task that asks for it, so that nothing outlives a writer.
        """
        if self._under_way is not None:
            await self._under_way.wait()
        elif anyio.current_time() >= self._next_refresh_s:
            self._next_refresh_s = anyio.current_time() + REFRESH_EVERY_S
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


def _distinct(values: Any) -> tuple[list[str], Indices]:
    """The distinct values, and the index of each among them; -1 for a null."""
    if hasattr(values, "dictionary_encode"):
        encoded = values.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    places: dict[str | None, int] = {None: -1}
    found = [places.setdefault(value, len(places) - 1) for value in values]
    del places[None]
    return [*places], np.array(found, dtype=np.int64)  # type: ignore[list-item]
