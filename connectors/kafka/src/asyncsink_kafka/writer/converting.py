"""What the intakes of Kafka's sinks share: numbering elements, and finding those that cannot be converted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from asyncsink.context import WriteContext
from asyncsink.converter import ElementConverter
from asyncsink_kafka.writer.rejections import Refused

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Converting:
    """Numbers elements for a converter, and says what it could not convert."""

    def __init__(self, converter: ElementConverter[Any, Any]) -> None:
        self.converter = converter
        self._next = 0
        self._has_warned = False

    @property
    def next(self) -> int:
        """The sequence that the next element will have."""
        return self._next

    def offer(self, count: int, context: WriteContext | None) -> int:
        """The sequence of the first of `count` elements: the caller's, or the next that no element has had."""
        first = self._next if context is None else context.sequence
        self._next = max(self._next, first + count)
        return first

    def _warn(self, error: Exception, count: int) -> None:
        """Log, once, that elements could not be converted all at once."""
        if not self._has_warned and count > 1:
            self._has_warned = True
            name = type(self.converter).__name__
            told = type(error).__name__, error
            logger.warning("%s could not convert %d rows at once (%s: %s); it goes on one by one", name, count, *told)

    def _sift(
        self, elements: Iterable[Any], first: int, convert: Callable[[Any, int], T]
    ) -> tuple[list[T], list[int], list[Refused]]:
        """What could be converted one by one, the sequence of each, and what could not.

        :param convert: takes an element and its sequence
        """
        converted: list[T] = []
        sequences: list[int] = []
        refused: list[Refused] = []
        for sequence, element in enumerate(elements, first):
            try:
                converted.append(convert(element, sequence))
            except Exception as error:
                refused.append(self._refused(element, sequence, error))
            else:
                sequences.append(sequence)
        return converted, sequences, refused

    def _refused(self, element: Any, sequence: int, error: Exception) -> Refused:
        name = type(self.converter).__name__
        told = f"{name} could not convert element {sequence}: {type(error).__name__}: {error}"
        return Refused(sequence, "ConversionError", told, element=element, cause=error)
