"""A program's own way from its elements to records of streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from asyncsink.context import InitContext
from asyncsink_dynamic_kafka.record import KafkaStreamRecord

T = TypeVar("T")


class KafkaStreamRecordSerializer(ABC, Generic[T]):
    """Turns an element into a record of a stream (FLIP-515).

    It is pickled with the sink, and each writer has a copy of its own. Under Spark an element is a row as a dictionary.
    """

    def open(self, context: InitContext) -> None:
        """Called once, when the writer is entered; never on Spark's driver."""

    @abstractmethod
    def serialize(self, element: T, timestamp: int | None) -> KafkaStreamRecord:
        """Convert one element. Whatever it raises concerns that element alone.

        :param timestamp: the element's event time in ms since the epoch, if it has one
        """
