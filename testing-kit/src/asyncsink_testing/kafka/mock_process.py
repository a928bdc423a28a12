"""The process of a mock cluster: librdkafka's own, by ctypes, since the Python client does not show it.

``python mock_process.py BROKERS`` prints one line of JSON for itself and one for each line of JSON that it reads, until
its input ends, as it does when the parent dies. It imports nothing of the kit, so that any interpreter can run it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Answer = dict[str, Any]

_PRODUCER = 0


class Cluster:
    """librdkafka's mock cluster and the calls on it that tests use."""

    def __init__(self, library: ctypes.CDLL, brokers: int) -> None:
        self._library = library
        reason = ctypes.create_string_buffer(512)
        client = library.rd_kafka_new(_PRODUCER, library.rd_kafka_conf_new(), reason, len(reason))
        if not client:
            raise OSError(f"librdkafka made no client: {reason.value.decode()}")
        self._cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), brokers))
        if not self._cluster:
            raise OSError(f"librdkafka made no mock cluster of {brokers} brokers")
        self.commands: dict[str, Callable[..., int | None]] = {
            "topic": self._topic,
            "leader": self._leader,
            "errors": self._errors,
            "round_trip": self._round_trip,
            "down": self._down,
            "up": self._up,
        }

    @property
    def bootstrap(self) -> str:
        return str(self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def _topic(self, name: str, partitions: int, replicas: int) -> int:
        return int(self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, replicas))

    def _leader(self, topic: str, partition: int, broker: int) -> int:
        set_leader = self._library.rd_kafka_mock_partition_set_leader
        return int(set_leader(self._cluster, topic.encode(), ctypes.c_int32(partition), ctypes.c_int32(broker)))

    def _errors(self, api_key: int, codes: list[int]) -> None:
        array = (ctypes.c_int * len(codes))(*codes)
        push = self._library.rd_kafka_mock_push_request_errors_array
        push(self._cluster, ctypes.c_int16(api_key), ctypes.c_size_t(len(codes)), array)

    def _round_trip(self, broker: int, milliseconds: int) -> int:
        set_rtt = self._library.rd_kafka_mock_broker_set_rtt
        return int(set_rtt(self._cluster, ctypes.c_int32(broker), ctypes.c_int(milliseconds)))

    def _down(self, broker: int) -> int:
        return int(self._library.rd_kafka_mock_broker_set_down(self._cluster, ctypes.c_int32(broker)))

    def _up(self, broker: int) -> int:
        return int(self._library.rd_kafka_mock_broker_set_up(self._cluster, ctypes.c_int32(broker)))


def load() -> ctypes.CDLL:
    """The librdkafka that the wheel of confluent-kafka brings.

    :raises OSError: this installation of confluent-kafka brings none
    """
    import confluent_kafka

    package = Path(confluent_kafka.__file__).parent
    for folder in (package.parent / "confluent_kafka.libs", package / ".dylibs"):
        for path in sorted(folder.glob("librdkafka*")):
            library = ctypes.CDLL(str(path))
            library.rd_kafka_conf_new.restype = ctypes.c_void_p
            library.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
            library.rd_kafka_new.restype = ctypes.c_void_p
            library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
            library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
            return library
    raise OSError(f"{package} brings no librdkafka; install a wheel of confluent-kafka, not its source")


def main() -> None:
    try:
        cluster = Cluster(load(), int(sys.argv[1]))
    except (ImportError, OSError) as reason:
        _say({"error": str(reason)})
        return
    _say({"bootstrap": cluster.bootstrap})
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        code = cluster.commands[name](*arguments)
        _say({"error": f"librdkafka answered {code}"} if code else {})
    # Not by return: librdkafka's threads still run, and its destructors wait for them.
    os._exit(0)


def _say(answer: Answer) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
