"""The records of a batch, one by one."""

from __future__ import annotations

from asyncsink_kafka.record import KafkaRecord


def decoded(data: bytes, base_timestamp: int, topic: str | None, partition: int | None) -> list[KafkaRecord]:
    """The records that `data`, the plain bytes behind a batch's header, is made of."""
    reader = _Reader(data)
    records = []
    while reader.place < len(data):
        reader.number()  # the record's length
        reader.place += 1  # its attributes
        timestamp = base_timestamp + reader.number()
        reader.number()  # its offset delta
        key, value = reader.content(), reader.content()
        headers = tuple(reader.header() for _ in range(reader.number()))
        record = KafkaRecord(
            value=value, key=key, topic=topic, headers=headers, partition=partition, timestamp=timestamp
        )
        records.append(record)
    return records


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def number(self) -> int:
        result = bits = 0
        while True:
            byte = self._data[self.place]
            self.place += 1
            result |= (byte & 127) << bits
            if byte < 128:
                return (result >> 1) ^ -(result & 1)
            bits += 7

    def content(self) -> bytes | None:
        length = self.number()
        if length < 0:
            return None
        self.place += length
        return self._data[self.place - length : self.place]

    def header(self) -> tuple[str, bytes | None]:
        name = self.content() or b""
        return name.decode(), self.content()
