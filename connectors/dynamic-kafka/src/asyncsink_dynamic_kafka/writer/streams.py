"""Rows and their streams: which can be routed now, which have to wait, and which are nobody's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from asyncsink_dynamic_kafka.routing.blocks import NO_STREAM, StreamBlock
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.writer.rejections import Refused

NOT_SUBSCRIBED: Final = "STREAM_NOT_SUBSCRIBED"


def of_streams(block: StreamBlock, wanted: Collection[str]) -> StreamBlock:
    """The rows of these streams; the block itself where it has no others."""
    places = [place for place, stream_id in enumerate(block.streams) if stream_id in wanted]
    if len(places) == len(block.streams):
        return block
    return block.take(np.flatnonzero(np.isin(block.stream_of, places)))


def pieces(block: StreamBlock, most_bytes: int) -> Sequence[StreamBlock]:
    """The block in pieces of about so many bytes, so that no cluster is given much more than it may hold."""
    count = -(-block.records.nbytes // max(most_bytes, 1))
    if count <= 1 or len(block) <= 1:
        return [block]
    step = -(-len(block) // count)
    return [block.slice(start, min(start + step, len(block))) for start in range(0, len(block), step)]


def refused(block: StreamBlock, known: Collection[str]) -> Iterator[Refused]:
    """The rows of streams that are none of these."""
    for stream_id, rows in block.rows_by_stream():
        if stream_id not in known:
            for row in rows.tolist():
                sequence = int(block.records.sequence[row])
                yield Refused(sequence, NOT_SUBSCRIBED, why_refused(stream_id), named(block, row))


def why_refused(stream_id: str | None) -> str:
    """Why a row is not written, and what to do."""
    if stream_id is None:
        return "the record names no stream; give each a stream, or filter such rows out"
    return (
        f"stream {stream_id!r} is not among those that this sink subscribes to and the metadata knows; add it to "
        "streamIds or streamPattern, or filter such rows out"
    )


def named(block: StreamBlock, row: int) -> KafkaRecord:
    """A record for a dead letter, with the stream, if it has one, in the place of the topic."""
    place = int(block.stream_of[row])
    return replace(block.records.record(row), topic=None if place == NO_STREAM else block.streams[place])
