"""Records that can be sent for sure, as one sees at a glance: they are written one by one without a look at columns."""

from __future__ import annotations

from asyncsink_kafka.encoding.measure import RECORD_OVERHEAD
from asyncsink_kafka.records import Fields


def plain_size(record: Fields, most: int) -> int | None:
    """The bytes of a record that can be sent if its topic can; None for one that has to be looked at.

    :param most: the bytes that a record may have
    """
    if record.headers or record.partition is not None:
        return None
    value, key, timestamp = record.value, record.key, record.timestamp
    if not isinstance(value, bytes | None) or not isinstance(key, bytes | None):
        return None
    if timestamp is not None and (type(timestamp) is not int or not 0 <= timestamp < 1 << 63):
        return None
    size = len(value or b"") + len(key or b"") + RECORD_OVERHEAD
    return size if size <= most else None
