"""What stands in a topic, as a consumer reads it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from time import monotonic, sleep
from typing import Any

_READ_S = 10.0
_POLL_S = 0.2


class TopicReader:
    """Reads a topic from its beginning to what is its end at that moment, with librdkafka, which checks each CRC.

    What is committed, to be exact, and of each partition nothing behind the first transaction that is open. It
    remembers what it has read, and reads on from there. May be called from several threads.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
        self._consumer: Any = None
        self._values: dict[int, list[bytes | None]] = {}
        self._next: dict[int, int] = {}
        self._lock = Lock()

    def values(self, least: int = 0) -> Sequence[bytes | None]:
        """All values, partition by partition, in the order of each.

        :param least: so many are waited for, for some seconds: brokers show a transaction a moment after they have
            taken its commit
        :raises TimeoutError: the broker did not give them in time
        """
        with self._lock:
            if self._consumer is None:
                self._open()
            deadline_s = monotonic() + _READ_S
            while True:
                self._read_to({partition: self._end(partition) for partition in self._next})
                if sum(map(len, self._values.values())) >= least or monotonic() > deadline_s:
                    break
                sleep(_POLL_S / 20)
            return [value for partition in sorted(self._values) for value in self._values[partition]]

    def close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()

    def _open(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self._consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "asyncsink-testing",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                # Ends are told too: beyond the last record there may be markers of transactions, which nobody is given.
                "enable.partition.eof": True,
                "check.crcs": True,
                # A broker that has nothing would else keep the connection for half a second.
                "fetch.wait.max.ms": 5,
                "log_level": 0,
            }
        )
        found = self._consumer.list_topics(self._topic, _READ_S).topics[self._topic].partitions
        self._next = dict.fromkeys(found, 0)
        self._values = {partition: [] for partition in found}
        self._consumer.assign([TopicPartition(self._topic, partition, 0) for partition in found])

    def _end(self, partition: int) -> int:
        from confluent_kafka import TopicPartition

        end: int = self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), _READ_S)[1]
        return end

    def _read_to(self, ends: dict[int, int]) -> None:
        deadline_s = monotonic() + _READ_S
        while behind := [at for at, end in ends.items() if self._next[at] < end]:
            for message in self._consumer.consume(1_000, _POLL_S / 20):
                self._take(message)
            if monotonic() > deadline_s:
                raise TimeoutError(f"partitions {behind} of {self._topic!r} could not be read within {_READ_S:g} s")

    def _take(self, message: Any) -> None:
        from confluent_kafka import KafkaError, KafkaException

        error = message.error()
        if error is None:
            self._values[message.partition()].append(message.value())
            self._next[message.partition()] = message.offset() + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            self._next[message.partition()] = message.offset()
        else:
            raise KafkaException(error)
