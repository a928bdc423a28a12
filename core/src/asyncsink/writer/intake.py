"""From elements to entries: converting, measuring, and finding the element at fault."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from asyncsink.blocks import EntryBlock, merge
from asyncsink.context import WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import ConversionError, OversizedEntryError
from asyncsink.writer.engine import Engine
from asyncsink.writer.rejecting import Refused
from asyncsink.writer.tail import OpenTail

logger = logging.getLogger(__name__)

Sifted = tuple[EntryBlock[Any], Sequence[int], Sequence[Refused]]
"""A block of what could be converted, the sequence of each of its entries, and what could not be converted."""


class Intake:
    """Converts what is written with the sink's converter, and numbers it.

    :ivar context: of an element that is written without one
    """

    __slots__ = ("_engine", "_maker", "_tail", "_warned", "context", "converter")

    def __init__(self, converter: ElementConverter[Any, Any], engine: Engine) -> None:
        self.converter, self._engine, self._maker, self._tail = converter, engine, engine.maker, engine.tail
        self._warned = False
        self.context: WriteContext = _NextContext(engine.tail)

    def offer(self, count: int, context: WriteContext | None) -> int:
        """The sequence of the first of `count` elements: the caller's, or the next that no element has had."""
        first = self._tail.number(count)
        return first if context is None else context.sequence

    def convert_run(
        self, run: Any, context: WriteContext, convert: Callable[[Any, WriteContext], Any]
    ) -> EntryBlock[Any] | None:
        """The entries of a run of elements; None where converting all at once fails, so that one is at fault."""
        try:
            converted = convert(run, context)
        except Exception as error:
            if not self._warned:
                self._warned = True
                logger.warning(
                    "%s could not convert %d elements at once (%s: %s); it goes on one by one",
                    type(self.converter).__name__,
                    len(run),
                    type(error).__name__,
                    error,
                )
            return None
        self._check_count(converted, len(run))
        if isinstance(converted, list):
            return self._maker.make(converted)
        block: EntryBlock[Any] = converted
        return block

    def sift(self, elements: Sequence[Any], context: WriteContext | None, first: int, first_only: bool) -> Sifted:
        """Convert elements one by one, the first of which has the sequence `first`.

        :param first_only: go no further than the first that cannot be converted
        """
        entries, sequences, refused = self._sift(elements, self.converter.apply, context, first, first_only)
        return self._maker.make(entries), sequences, refused

    def sift_rows(
        self,
        rows: Any,
        context: WriteContext | None,
        first: int,
        convert: Callable[[Any, WriteContext], Any],
        first_only: bool,
    ) -> Sifted:
        """Like :meth:`sift`, for the rows of a record batch.

        A row stays a batch, since a dictionary of it would not tell maps from lists, cannot hold a string that is no
        UTF-8 or a date before year 1, and makes something else of a time of day beyond 24 hours.
        """
        alone = (rows.slice(row, 1) for row in range(len(rows)))
        blocks, sequences, refused = self._sift(alone, convert, context, first, first_only)
        for block in blocks:
            self._check_count(block, 1)
        return merge(blocks) if blocks else self._maker.make([]), sequences, refused

    def _sift(
        self,
        elements: Iterable[Any],
        convert: Callable[[Any, WriteContext], Any],
        context: WriteContext | None,
        first: int,
        first_only: bool,
    ) -> tuple[list[Any], list[int], list[Refused]]:
        """What could be converted, the sequence of each, and what could not."""
        converted: list[Any] = []
        sequences: list[int] = []
        refused: list[Refused] = []
        for sequence, element in enumerate(elements, first):
            try:
                converted.append(convert(element, at(context, sequence)))
            except Exception as error:
                refused.append(self.refused(element, sequence, error, len(converted)))
                if first_only:
                    break
            else:
                sequences.append(sequence)
        return converted, sequences, refused

    def _check_count(self, converted: Any, count: int) -> None:
        if len(converted) != count:
            raise ConversionError(
                f"{type(self.converter).__name__} made {len(converted)} entries of {count} elements; "
                "a converter makes one entry of each"
            )

    def refused(self, element: Any, sequence: int, error: Exception, place: int = 0) -> Refused:
        """An element whose conversion raised `error`."""
        name = type(self.converter).__name__
        text = f"{name} could not convert element {sequence}: {type(error).__name__}: {error}"
        failure = ConversionError(text)
        failure.__cause__ = error
        return Refused(failure, sequence, place, element=element)

    def refused_entry(self, block: EntryBlock[Any], index: int, sequence: int) -> Refused:
        """An entry of a block that is too large to be ever sent."""
        return Refused(self.oversized(block.size_in_bytes(index, index + 1)), sequence, index, entry=block[index])

    def oversized(self, size: int) -> OversizedEntryError:
        """What to raise for an entry of `size` bytes that is too large to be ever sent."""
        return OversizedEntryError(
            f"an entry has {size} bytes, more than max_record_size_in_bytes = {self._engine.max_record_size_in_bytes}; "
            "make it smaller, or raise the limit if the service allows"
        )


class _NextContext(WriteContext):
    """The context of the next element: to number each of them costs more than to take it into the tail."""

    __slots__ = ("_tail",)

    def __init__(self, tail: OpenTail) -> None:
        self._tail = tail
        self.timestamp = self.current_watermark = None

    @property
    def sequence(self) -> int:  # type: ignore[override]
        return self._tail.next_number


def at(context: WriteContext | None, sequence: int) -> WriteContext:
    """A context of its own for the element with this sequence, like `context` in all else."""
    return WriteContext(sequence=sequence) if context is None else context.at(sequence)
