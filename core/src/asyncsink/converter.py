"""From what a user writes to what a request carries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import length_hint
from typing import Any, Generic, TypeVar

from asyncsink.context import InitContext, WriteContext

InputT = TypeVar("InputT")
EntryT = TypeVar("EntryT")


class ElementConverter(ABC, Generic[InputT, EntryT]):
    """Turns an element into the entry that a request carries (FLIP-171).

    A converter is pure: the same element and context give the same entry. One is made by
    :meth:`AsyncSink.converter` for each writer. Under Spark a converter may also define
    ``apply_batch(batch: pyarrow.RecordBatch, context) -> EntryBlock``, which makes all entries of an Arrow batch at
    once; where it fails the writer repeats it for batches of one row to find the element at fault.
    """

    def open(self, context: InitContext) -> None:
        """Called once, when the writer is entered; never on Spark's driver."""

    @abstractmethod
    def apply(self, element: InputT, context: WriteContext) -> EntryT:
        """Convert one element. Whatever it raises concerns that element alone (code CONVERSION).

        `context` is the writer's own and changes with the next element: take from it what you need, keep no reference.
        """

    def apply_many(self, elements: Sequence[InputT], context: WriteContext) -> list[EntryT]:
        """Convert a run of elements; ``context.sequence`` is that of the first. By default a loop over :meth:`apply`.

        If it raises, the writer repeats the run one by one.
        """
        apply, run = self.apply, _RunContext(context, elements)
        return [apply(element, run) for element in run.elements]


class _RunContext(WriteContext):
    """The context of the element that an iteration has reached: who asks for its sequence pays for it.

    To number the elements as they come costs a sixth of what all of ``write_many`` does, and few converters ask.
    """

    __slots__ = ("_last", "elements")

    def __init__(self, context: WriteContext, elements: Sequence[Any]) -> None:
        self.timestamp, self.current_watermark = context.timestamp, context.current_watermark
        self._last = context.sequence + len(elements) - 1
        self.elements = iter(elements)
        if length_hint(self.elements) != len(elements):  # such as a sequence that iterates by a generator
            self.elements = iter(list(elements))

    @property
    def sequence(self) -> int:  # type: ignore[override]
        return self._last - length_hint(self.elements)
