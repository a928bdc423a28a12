"""One cluster topic of a stream after another, which is the default."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

import numpy as np

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.routing.blocks import Rows
from asyncsink_dynamic_kafka.routing.built_in import BuiltInRouter, Slots
from asyncsink_kafka.records import Records


class Turns:
    """Whose turn it is in several rounds, each known by a name.

    A round begins anywhere: the writers of many small batches would else all begin with the first.
    """

    def __init__(self, random: Random | None = None) -> None:
        self._random = random
        self._salt: int | None = None
        self._next: dict[Hashable, int] = {}

    def take(self, name: Hashable, count: int, size: int) -> Slots:
        """The next `count` turns in a round of `size`."""
        first = self._next[name] % size if name in self._next else self._first(name, size)
        self._next[name] = (first + count) % size
        return np.arange(first, first + count, dtype=np.int64) % size

    def _first(self, name: Hashable, size: int) -> int:
        """Whichever round is begun earlier, so that many records at once go where each by itself would."""
        if self._salt is None:
            # Drawn in the writer and not where the router is made: all copies of a pickled one would begin alike.
            self._salt = (self._random or Random()).getrandbits(64)
        return Random(f"{self._salt}/{name!r}").randrange(size)


class RoundRobinReconcilableStreamRouter(BuiltInRouter):
    """Distributes the records of each stream equally over its cluster topics, in a circle (FLIP-515).

    Of any run of records of a stream no two of its cluster topics get numbers that differ by more than one, also where
    the metadata is confirmed in between.
    """

    def __init__(self, random: Random | None = None) -> None:
        super().__init__()
        self._turns = Turns(random)

    def slots(self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows) -> Slots:
        return self._turns.take(stream_id, len(rows), len(targets))
