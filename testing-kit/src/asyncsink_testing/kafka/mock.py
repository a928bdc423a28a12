"""librdkafka's mock cluster, in a process of its own: Kafka's protocol without Kafka, there within half a second."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from asyncsink_testing.kafka.unavailable import KafkaUnavailable

_PROCESS = Path(__file__).with_name("mock_process.py")
_END_S = 5.0


class MockCluster:
    """Brokers that live while this is entered, and no longer than the process that entered it.

    They keep everything in memory, and of each partition only the last 5 MB. They know no log compaction, no quotas, no
    security and no ``CreateTopics``; they check no CRC and no sequence number.

    :param brokers: how many; their ids begin with 1
    :param topics: partition counts by topic, to begin with; :meth:`create_topic` adds others
    :raises KafkaUnavailable: on entering: confluent-kafka is not installed, or its wheel brings no librdkafka
    """

    def __init__(self, brokers: int = 1, topics: Mapping[str, int] | None = None) -> None:
        self._brokers, self._topics = brokers, dict(topics or {})
        self._process: subprocess.Popen[str] | None = None
        # Checks that run at once each make a topic, from threads: an answer must not be read by another's question.
        self._asking = Lock()
        self.bootstrap = ""

    def __enter__(self) -> MockCluster:
        if importlib.util.find_spec("confluent_kafka") is None:
            raise KafkaUnavailable("the mock cluster is librdkafka's: pip install confluent-kafka")
        command = [sys.executable, str(_PROCESS), str(self._brokers)]
        # librdkafka logs to the standard error; what goes wrong here is said in the answers.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            self.bootstrap = self._answer()["bootstrap"]
            for name, partitions in self._topics.items():
                self.create_topic(name, partitions)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def create_topic(self, name: str, partitions: int = 1, replicas: int | None = None) -> None:
        """Make a topic; by default with as many replicas as there are brokers, at most three."""
        self._ask("topic", name, partitions, replicas or min(3, self._brokers))

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let another broker lead the partition from now on."""
        self._ask("leader", topic, partition, broker)

    def fail_next(self, api_key: int, codes: Sequence[int]) -> None:
        """Answer the next requests of this kind with these error codes, one each."""
        self._ask("errors", api_key, list(codes))

    def delay_answers(self, broker: int, milliseconds: int) -> None:
        """Let every round trip to the broker take this long."""
        self._ask("round_trip", broker, milliseconds)

    def stop_broker(self, broker: int) -> None:
        """Close the broker's connections and refuse new ones; what it holds it keeps."""
        self._ask("down", broker)

    def start_broker(self, broker: int) -> None:
        """Let the broker listen again."""
        self._ask("up", broker)

    def _ask(self, *command: Any) -> None:
        process = self._running()
        assert process.stdin is not None
        with self._asking:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
            self._answer()

    def _answer(self) -> Mapping[str, Any]:
        process = self._running()
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of the mock cluster ended with {process.wait(_END_S)}")
        answer: Mapping[str, Any] = json.loads(line)
        if "error" in answer:
            raise (RuntimeError if self.bootstrap else KafkaUnavailable)(f"the mock cluster: {answer['error']}")
        return answer

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the mock cluster does not run: enter it first")
        return self._process

    def _end(self) -> None:
        process, self._process = self._running(), None
        try:
            process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
