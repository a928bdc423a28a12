"""Rows as Kafka's record batches: encoded column by column, compressed and sealed, and decoded again."""

from __future__ import annotations

from asyncsink_kafka.encoding.batch import ReadyBatch
from asyncsink_kafka.encoding.codecs import Codec, codec
from asyncsink_kafka.encoding.encoder import encode
from asyncsink_kafka.encoding.measure import sizes_beyond, sizes_of

__all__ = ["Codec", "ReadyBatch", "codec", "encode", "sizes_beyond", "sizes_of"]
