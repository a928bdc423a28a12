"""What a writer leaves to its successor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

EntryT = TypeVar("EntryT")


@dataclass(frozen=True, slots=True)
class BufferedRequestState(Generic[EntryT]):
    """Every entry that a writer has accepted and the destination has not acknowledged, in order (FLIP-171).

    Upstream's holds the buffer alone; ours also what was in flight, so that it is right at any moment and not only
    after a flush.

    :param entries: in the order of acceptance
    :param sizes: bytes of each, as they were measured; used as they are after a restore
    """

    entries: tuple[EntryT, ...] = ()
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.entries) != len(self.sizes):
            raise ValueError(f"a state of {len(self.entries)} entries has {len(self.sizes)} sizes; give one for each")

    @property
    def size_in_bytes(self) -> int:
        return sum(self.sizes)

    @classmethod
    def joined(cls, states: Sequence[BufferedRequestState[EntryT]]) -> BufferedRequestState[EntryT]:
        """Several states as one, in the order in which they are given."""
        entries = tuple(entry for state in states for entry in state.entries)
        return BufferedRequestState(entries, tuple(size for state in states for size in state.sizes))
