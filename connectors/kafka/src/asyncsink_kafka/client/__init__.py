"""The client: ready record batches through aiokafka."""

from __future__ import annotations

from asyncsink_kafka.client.codes import CLIENT_CLOSED
from asyncsink_kafka.client.errors import ERRORS, UnknownTopicError
from asyncsink_kafka.client.kafka_client import KafkaClient, connect
from asyncsink_kafka.client.watching import Observer

__all__ = ["CLIENT_CLOSED", "ERRORS", "KafkaClient", "Observer", "UnknownTopicError", "connect"]
