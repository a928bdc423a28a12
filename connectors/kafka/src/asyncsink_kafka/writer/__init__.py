"""The writer: rows pile up, are routed and encoded many at once, and go to the brokers in record batches."""

from __future__ import annotations

from asyncsink_kafka.writer.writer import KafkaWriter

__all__ = ["KafkaWriter"]
