"""Which shard a record goes to, by ranges of hash keys that do not change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncsink_kinesis.shards.hash_keys import HIGHEST, explicit_hash_key, hash_key, hash_key_of
from asyncsink_kinesis.shards.shard import Shard

Indices = npt.NDArray[np.int64]


class ShardRanges:
    """The open shards of a stream at one time, and where records go among them.

    :param shards: in any order
    :raises ValueError: some hash key is held by none
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._set(shards)

    def _set(self, shards: Sequence[Shard]) -> None:
        found = sorted(shards, key=lambda each: each.start)
        _check_whole(found)
        self._shards = found
        self._by_id = {each.id: each for each in found}
        self._ids = [each.id for each in found]
        self._starts = [each.start.to_bytes(16, "big") for each in found]
        self._array = np.array(self._starts, dtype="S16")

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
        return self._ids[bisect_right(self._starts, hash_key(partition_key, explicit)) - 1]

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
        places: Indices = np.searchsorted(self._array, values, side="right") - 1
        return places


def _check_whole(shards: Sequence[Shard]) -> None:
    """Refuse a listing with a hole, as one in the middle of a resharding may have.

    :raises ValueError: says where
    """
    if not shards:
        raise ValueError("the stream has no open shard; wait until it is ACTIVE")
    covered = -1
    for start, end in [(each.start, each.end) for each in shards] + [(HIGHEST + 1, HIGHEST)]:
        if start > covered + 1:
            raise ValueError(
                f"the open shards have a hole: none holds the hash keys from {covered + 1} to {start - 1}; wait until "
                "the stream is ACTIVE"
            )
        covered = max(covered, end)


def _distinct(values: Any) -> tuple[list[str], Indices]:
    """The distinct values, and the index of each among them; -1 for a null."""
    if hasattr(values, "dictionary_encode"):
        encoded = values.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    places: dict[str | None, int] = {None: -1}
    found = [places.setdefault(value, len(places) - 1) for value in values]
    del places[None]
    return [*places], np.array(found, dtype=np.int64)  # type: ignore[list-item]
