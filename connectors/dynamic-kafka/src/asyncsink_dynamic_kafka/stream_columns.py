"""Blocks of Arrow batches: each column by itself, and no Python object for a row."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from asyncsink.arrow import normalise
from asyncsink.arrow.json_rows import valid_text
from asyncsink_dynamic_kafka.converter import STREAM, no_stream_column
from asyncsink_dynamic_kafka.routing.blocks import NO_STREAM, StreamBlock
from asyncsink_kafka.arrow_columns import records_of
from asyncsink_kafka.columns import COLUMN_TYPES, wrong_type


def block_of(batch: pa.RecordBatch, used: Collection[str], first_sequence: int, only_stream: str | None) -> StreamBlock:
    """The rows of a batch, with their streams.

    :param used: the columns to look at, beside that of the stream; names compare without case
    :param only_stream: that of rows that name none; None: these have no stream
    :raises SchemaError: a column is missing, or has a type that cannot become its own
    """
    records = records_of(batch, used, first_sequence)
    place = next((place for place, name in enumerate(batch.schema.names) if name.lower() == STREAM), None)
    if place is not None:
        streams, stream_of = _coded(batch, place, only_stream)
    elif only_stream is not None:
        streams, stream_of = (only_stream,), np.zeros(batch.num_rows, np.int32)
    else:
        raise no_stream_column()
    return StreamBlock(streams=streams, stream_of=stream_of, records=records)


def _coded(batch: pa.RecordBatch, place: int, only_stream: str | None) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The distinct ids of a column, and of each row the index of its own."""
    column = normalise(batch.select([place])).column(0)
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        raise wrong_type(batch.schema.names[place], str(kind), COLUMN_TYPES["topic"])
    coded = valid_text(column).dictionary_encode()
    streams: list[str] = coded.dictionary.to_pylist()
    indices = coded.indices
    if indices.null_count:
        missing = NO_STREAM
        if only_stream is not None:
            missing = streams.index(only_stream) if only_stream in streams else len(streams)
            streams += [only_stream] if missing == len(streams) else []
        indices = pc.fill_null(indices, missing)
    return tuple(streams), indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
