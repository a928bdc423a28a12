"""Rows and their streams: which can be routed now, which have to wait, and which are nobody's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from asyncsink_dynamic_kafka.routing.blocks import StreamBlock

NOT_SUBSCRIBED = "STREAM_NOT_SUBSCRIBED"


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
