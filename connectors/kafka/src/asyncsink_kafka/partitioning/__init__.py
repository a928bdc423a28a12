"""Which topic and which partition each row goes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from asyncsink_kafka.options.partitioner_names import checked_partitioner
from asyncsink_kafka.partitioning.murmur2 import murmur2_many
from asyncsink_kafka.partitioning.own import load_partitioner
from asyncsink_kafka.partitioning.partitioner import Partitioner
from asyncsink_kafka.partitioning.routing import Routed, highest_partitions, route, topics_of
from asyncsink_kafka.partitioning.standard import Fixed, Murmur2, RoundRobin, Sticky

__all__ = [
    "Partitioner",
    "Routed",
    "highest_partitions",
    "make_partitioner",
    "murmur2_many",
    "route",
    "topics_of",
]

_STANDARD: Final[Mapping[str, Callable[[int], Partitioner]]] = {
    "murmur2": Murmur2,
    "sticky": Sticky,
    "round-robin": lambda _: RoundRobin(),
    "fixed": lambda _: Fixed(),
}


def make_partitioner(text: str, *, batch_size_in_bytes: int) -> Partitioner:
    """The partitioner that the option names, for one writer.

    :param text: ``murmur2``, ``sticky``, ``round-robin``, ``fixed``, the Java class of one of these, or the import path
        of one of the user's own
    :param batch_size_in_bytes: bytes after which rows without a key go to another partition
    :raises ConfigurationError: it is none of these, or does not load
    """
    name = checked_partitioner(text)
    return _STANDARD[name](batch_size_in_bytes) if name in _STANDARD else load_partitioner(name)
