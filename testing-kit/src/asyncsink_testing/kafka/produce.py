"""Produce requests and their answers, versions 3 to 8."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from asyncsink_testing.kafka.wire import Reader, WireError, array, blob, string

PRODUCE = 0
OLDEST, NEWEST = 3, 8

T = TypeVar("T")

Place = tuple[str, int]
"""A topic and one of its partitions."""


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    """What one request asks to store.

    :param header: of the request, with the client's id
    :param batches: the record batches, as they came, by topic and partition
    """

    version: int
    header: bytes
    transactional_id: str | None
    acks: int
    timeout_ms: int
    batches: Mapping[Place, bytes]

    @classmethod
    def parsed(cls, frame: bytes) -> ProduceRequest:
        """The request in a frame, without the four bytes of its size.

        :raises WireError: it is cut short, or of a version that this module does not know
        """
        reader = Reader(frame)
        _, version, _ = reader.int16(), reader.int16(), reader.int32()
        if not OLDEST <= version <= NEWEST:
            raise WireError(f"Produce version {version}; known are {OLDEST} to {NEWEST}, and ApiVersions said so")
        reader.string()
        header = frame[: reader.at]
        transactional_id, acks, timeout_ms = reader.string(), reader.int16(), reader.int32()
        batches: dict[Place, bytes] = {}

        def topic() -> None:
            name = reader.string() or ""
            for partition, records in reader.array(lambda: (reader.int32(), reader.blob())):
                batches[name, partition] = records or b""

        reader.array(topic)
        return cls(version, header, transactional_id, acks, timeout_ms, batches)

    def without(self, places: Iterable[Place]) -> ProduceRequest:
        """The same without these partitions."""
        left_out = set(places)
        return replace(self, batches={place: each for place, each in self.batches.items() if place not in left_out})

    def encoded(self) -> bytes:
        """The frame, without its size."""
        topics = [
            string(topic) + array([struct.pack(">i", partition) + blob(records) for partition, records in of.items()])
            for topic, of in _by_topic(self.batches).items()
        ]
        fixed = struct.pack(">hi", self.acks, self.timeout_ms)
        return self.header + string(self.transactional_id) + fixed + array(topics)

    @property
    def correlation(self) -> bytes:
        """What the answer must begin with."""
        return self.header[4:8]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the answer says of one partition.

    :param rejected: the records that are to blame, by their place in the batch, from version 8 on
    """

    code: int
    offset: int = -1
    log_append_ms: int = -1
    log_start_offset: int = -1
    rejected: tuple[int, ...] = ()
    message: str | None = None


def answered(request: ProduceRequest, frame: bytes) -> tuple[dict[Place, Outcome], int]:
    """What an answer says, and its throttle in milliseconds.

    :raises WireError: it is cut short
    """
    reader = Reader(frame, 4)
    outcomes: dict[Place, Outcome] = {}

    def topic() -> None:
        name = reader.string() or ""

        def partition() -> None:
            number = reader.int32()
            outcomes[name, number] = _outcome(reader, request.version)

        reader.array(partition)

    reader.array(topic)
    return outcomes, reader.int32()


def answer(request: ProduceRequest, outcomes: Mapping[Place, Outcome], throttle_ms: int = 0) -> bytes:
    """The frame that says this, without its size."""
    topics = [
        string(topic) + array([struct.pack(">i", at) + _encoded(each, request.version) for at, each in of.items()])
        for topic, of in _by_topic(outcomes).items()
    ]
    return request.correlation + array(topics) + struct.pack(">i", throttle_ms)


def _outcome(reader: Reader, version: int) -> Outcome:
    code, offset, log_append_ms = reader.int16(), reader.int64(), reader.int64()
    log_start_offset = reader.int64() if version >= 5 else -1
    if version < 8:
        return Outcome(code, offset, log_append_ms, log_start_offset)
    rejected = reader.array(lambda: (reader.int32(), reader.string()))
    return Outcome(code, offset, log_append_ms, log_start_offset, tuple(each for each, _ in rejected), reader.string())


def _encoded(outcome: Outcome, version: int) -> bytes:
    data = struct.pack(">hqq", outcome.code, outcome.offset, outcome.log_append_ms)
    if version >= 5:
        data += struct.pack(">q", outcome.log_start_offset)
    if version >= 8:
        data += array([struct.pack(">i", each) + string(None) for each in outcome.rejected]) + string(outcome.message)
    return data


def _by_topic(places: Mapping[Place, T]) -> dict[str, dict[int, T]]:
    found: dict[str, dict[int, T]] = {}
    for (topic, partition), each in places.items():
        found.setdefault(topic, {})[partition] = each
    return found
