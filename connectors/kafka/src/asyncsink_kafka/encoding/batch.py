"""Record batches of format 2 (KIP-98) that are finished but for the producer's numbers and the checksum."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from asyncsink_kafka.encoding.codecs import Codec, NoCodec
from asyncsink_kafka.encoding.decoding import decoded
from asyncsink_kafka.encoding.measure import HEADER_BYTES
from asyncsink_kafka.records import Records

# Base offset, length, partition leader's epoch, magic, checksum; then, under the checksum, attributes, last offset
# delta, base and greatest timestamp, producer's id and epoch, base sequence, count.
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PRODUCER: Final = struct.Struct(">qhi")
_PRODUCER_AT: Final = 43
_CHECKSUM: Final = struct.Struct(">I")
_CHECKSUM_AT: Final = 17
_CHECKED_FROM: Final = 21
_LENGTH_COUNTS_FROM: Final = 12
_MAGIC: Final = 2
_NONE: Final = -1
_TRANSACTIONAL: Final = 1 << 4
_SPACE: Final = bytes(HEADER_BYTES)
_SEQUENCES: Final = 1 << 31
_PLAIN: Final = NoCodec()


@dataclass(slots=True, eq=False)
class ReadyBatch:
    """A record batch that wants only the producer's numbers.

    :param slot: the caller's word for where it goes
    :param count: its records
    :param sequence: the position of each among the elements of its writer
    :param codec: which made it smaller; one of no effect if none did
    """

    slot: int
    count: int
    sequence: NDArray[np.int64]
    codec: Codec
    base_timestamp: int
    _plain_bytes: int
    _buffer: bytearray

    @property
    def size_in_bytes(self) -> int:
        """All of its bytes, compressed, with the header."""
        return len(self._buffer)

    def seal(self, producer_id: int, producer_epoch: int, base_sequence: int) -> bytearray:
        """The batch with these numbers, -1 each for a producer that is not idempotent, and its checksum.

        It is the same object each time: who seals it again changes what was returned before. Past 2^31 - 1 the sequence
        begins at 0 again.
        """
        number = base_sequence if base_sequence < 0 else base_sequence % _SEQUENCES
        _PRODUCER.pack_into(self._buffer, _PRODUCER_AT, producer_id, producer_epoch, number)
        _CHECKSUM.pack_into(self._buffer, _CHECKSUM_AT, _crc32c(self._buffer))
        return self._buffer

    def records(self, topic: str | None = None, partition: int | None = None) -> Records:
        """The records again, each with the timestamp that it was written with.

        One object per record is made on the way: it is meant for splitting and for dead letters.
        """
        with memoryview(self._buffer) as whole, whole[HEADER_BYTES:] as body:
            plain = self.codec.decompress(body, self._plain_bytes)
        return Records.of(decoded(plain, self.base_timestamp, topic, partition), self.sequence)


def finished(
    records: memoryview,
    tail: bytes,
    *,
    slot: int,
    sequence: NDArray[np.int64],
    base_timestamp: int,
    max_timestamp: int,
    codec: Codec,
    transactional: bool,
) -> ReadyBatch:
    """A batch of records as they are written.

    :param tail: the bytes that belong behind them
    :param codec: is left out where it only makes them more
    """
    # One allocation that nobody fills with zeros first.
    buffer = bytearray().join((_SPACE, records, tail))
    plain_bytes = len(buffer) - HEADER_BYTES
    if codec.attributes:
        with memoryview(buffer) as whole, whole[HEADER_BYTES:] as body:
            compressed = codec.compress(body)
        if len(compressed) < plain_bytes:
            buffer = bytearray().join((_SPACE, compressed))
        else:
            codec = _PLAIN
    count = len(sequence)
    attributes = codec.attributes | (_TRANSACTIONAL if transactional else 0)
    length = len(buffer) - _LENGTH_COUNTS_FROM
    numbers = (attributes, count - 1, base_timestamp, max_timestamp, _NONE, _NONE, _NONE, count)
    _HEADER.pack_into(buffer, 0, 0, length, _NONE, _MAGIC, 0, *numbers)
    return ReadyBatch(slot, count, sequence, codec, base_timestamp, plain_bytes, buffer)


def _crc32c(buffer: bytearray) -> int:
    """The checksum of what it covers."""
    covered = np.frombuffer(buffer, np.uint8)[_CHECKED_FROM:]
    # The library refuses buffers that can be written to, unless they are numpy's. Without its C part it wants bytes.
    checksum: int = google_crc32c.value(covered if google_crc32c.implementation == "c" else covered.tobytes())
    return checksum
