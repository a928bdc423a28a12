"""The writer: records of streams go to the clusters that their streams have at that time."""

from __future__ import annotations

from asyncsink_dynamic_kafka.writer.writer import DynamicKafkaWriter

__all__ = ["DynamicKafkaWriter"]
