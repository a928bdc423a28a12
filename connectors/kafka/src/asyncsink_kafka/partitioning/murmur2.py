"""Kafka's murmur2 of whole columns, the result of Java's ``Utils.murmur2`` bit for bit.

The keys of a chunk are sorted by their number of words of four bytes, and one word of all keys that have it is mixed in
at a time. A few keys that are much longer than the others are finished one by one: there NumPy's fixed cost of a
microsecond a call would be that of a single word.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint32]
Positions = npt.NDArray[np.int64]

_M: Final = np.uint32(0x5BD1E995)
_SEED: Final = np.uint32(0x9747B28C)
_R: Final = np.uint32(24)
_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)
_MASK: Final = 0xFFFFFFFF

# What a chunk takes beside the column is some 100 bytes a key; larger chunks are no faster.
_CHUNK: Final = 16_384
# From its 65th word on, a key is finished by itself if fewer than so many are as long: 10 us a step or 0.1 us a word.
_FEW: Final = 100
_FEW_WORDS: Final = 64
_BLOCK_WORDS: Final = 1 << 16


def murmur2_many(column: pa.Array) -> Hashes:
    """The hash of each value of a binary or string column, plain or large; 0 for a null.

    Java's ``int`` as the unsigned number of the same bits: ``Utils.toPositive`` is ``& 0x7FFFFFFF``.

    :raises TypeError: the column is of another type
    """
    data, offsets = _parts(column)
    hashes = np.empty(len(column), np.uint32)
    words = np.ndarray((len(data) - 3,), np.dtype("<u4"), data, strides=(1,))  # one at every byte, aligned or not
    for start in range(0, len(column), _CHUNK):
        bounds = offsets[start : start + _CHUNK + 1].astype(np.int64, copy=False)
        hashes[start : start + _CHUNK] = _chunk(words, bounds[:-1], np.diff(bounds))
    if column.null_count:
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


def _parts(column: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    """The bytes of a column, at least four, and where each value begins and the last ends."""
    kind = column.type
    if kind in (pa.binary(), pa.string()):
        width: type[np.signedinteger[Any]] = np.int32
    elif kind in (pa.large_binary(), pa.large_string()):
        width = np.int64
    else:
        raise TypeError(f"a column of type {kind} has no bytes to hash; cast it to binary")
    _, bounds, values = column.buffers()
    if not len(column) or bounds is None:
        return np.zeros(4, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(bounds, width, len(column) + 1, column.offset * np.dtype(width).itemsize)
    data = np.zeros(0, np.uint8) if values is None else np.frombuffer(values, np.uint8)
    if len(data) < 4:
        data = np.pad(data, (0, 4 - len(data)))
    return data, offsets


def _chunk(words: Hashes, starts: Positions, lengths: Positions) -> Hashes:
    counts = lengths >> 2
    if not len(counts) or counts.min() == counts.max():
        return _sorted_chunk(words, starts, lengths, counts)
    # Of 16 bits it is a radix sort.
    narrow = counts.astype(np.uint16) if counts.max() < 1 << 16 else counts
    order = np.argsort(narrow, kind="stable")
    hashes = np.empty(len(order), np.uint32)
    hashes[order] = _sorted_chunk(words, starts[order], lengths[order], counts[order])
    return hashes


def _sorted_chunk(words: Hashes, starts: Positions, lengths: Positions, counts: Positions) -> Hashes:
    """The hashes of keys that are sorted by their number of words."""
    hashes = _SEED ^ lengths.astype(np.uint32)
    together = _steps(counts)
    firsts = np.searchsorted(counts, np.arange(together), side="right").tolist()
    for step, first in enumerate(firsts):
        mixed = _mixed(words[starts[first:] + 4 * step])
        part = hashes[first:]
        part *= _M
        part ^= mixed
    for index in range(int(np.searchsorted(counts, together, side="right")), len(counts)):
        hashes[index] = _finished(
            words, int(hashes[index]), int(starts[index]) + 4 * together, int(counts[index]) - together
        )
    return _avalanche(_with_tails(words, hashes, starts + 4 * counts, lengths & 3))


def _steps(counts: Positions) -> int:
    """For how many words it pays to do all keys together."""
    if not len(counts):
        return 0
    longest = int(counts[-1])
    many = int(counts[-_FEW]) if len(counts) >= _FEW else 0
    return min(longest, max(many, _FEW_WORDS))


def _mixed(words: Hashes) -> Hashes:
    words *= _M
    words ^= words >> _R
    words *= _M
    return words


def _finished(words: Hashes, hashed: int, start: int, count: int) -> int:
    """The hash of one key after `count` more words from the byte `start` on."""
    m = int(_M)
    for block in range(0, count, _BLOCK_WORDS):
        begin, size = start + 4 * block, min(_BLOCK_WORDS, count - block)
        # With the modulus after each product Python's int stays small.
        for word in _mixed(words[begin : begin + 4 * size : 4].copy()).tolist():
            hashed = (hashed * m & _MASK) ^ word
    return hashed


def _with_tails(words: Hashes, hashes: Hashes, starts: Positions, rest: Positions) -> Hashes:
    """The hashes after the last one to three bytes of each key that has such."""
    if not rest.any():
        return hashes
    # The last word of the column's bytes holds the tail where a word from its own start would go beyond them.
    readable = np.minimum(starts, len(words) - 1)
    tails = words[readable] >> (8 * (starts - readable)).astype(np.uint32)
    tails &= _TAIL_MASKS[rest]
    return np.where(rest, (hashes ^ tails) * _M, hashes)


def _avalanche(hashes: Hashes) -> Hashes:
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    hashes ^= hashes >> np.uint32(15)
    return hashes
