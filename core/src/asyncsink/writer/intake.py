"""From elements to entries: converting, measuring, and finding the element at fault."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from asyncsink.blocks import EntryBlock
from asyncsink.context import WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import ConversionError, OversizedEntryError
from asyncsink.writer.make import BlockMaker

logger = logging.getLogger(__name__)


class Intake:
    """Converts what is written with the sink's converter, and counts what was offered without a context.

    :ivar context: of elements that are written without one; its sequence is that of the last
    """

    __slots__ = ("_limit", "_maker", "_warned", "context", "converter")

    def __init__(self, converter: ElementConverter[Any, Any], maker: BlockMaker, limit: int) -> None:
        self.converter, self._maker, self._limit = converter, maker, limit
        self._warned = False
        self.context = WriteContext(sequence=-1)

    def offer(self, count: int, context: WriteContext | None) -> int:
        """The sequence of the first of `count` elements: the caller's, or the next that no element has had."""
        if context is not None:
            return context.sequence
        self.context.sequence += count
        return self.context.sequence - count + 1

    def convert(self, element: Any) -> tuple[Any, int]:
        """The entry of one element that came without a context, and its bytes."""
        self.context.sequence += 1
        try:
            entry = self.converter.apply(element, self.context)
        except Exception as error:
            raise self.unconvertible(self.context.sequence, error) from error
        size = self._maker.size_of(entry)
        self.check_size(size)
        return entry, size

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

    def convert_row(self, row: Any, context: WriteContext, convert: Callable[[Any, WriteContext], Any]) -> Any:
        """The entry of a batch of one row, as a block.

        The row stays a batch, since a dictionary of it would not tell maps from lists, cannot hold a string that is no
        UTF-8 or a date before year 1, and makes something else of a time of day beyond 24 hours.
        """
        try:
            block = convert(row, context)
        except Exception as error:
            raise self.unconvertible(context.sequence, error) from error
        self._check_count(block, 1)
        return block

    def _check_count(self, converted: Any, count: int) -> None:
        if len(converted) != count:
            raise ConversionError(
                f"{type(self.converter).__name__} made {len(converted)} entries of {count} elements; "
                "a converter makes one entry of each"
            )

    def unconvertible(self, sequence: int, error: Exception) -> ConversionError:
        """What to raise for an element whose conversion raised `error`."""
        return ConversionError(
            f"{type(self.converter).__name__} could not convert element {sequence}: {type(error).__name__}: {error}"
        )

    def check_size(self, size: int) -> None:
        """Raise if an entry of `size` bytes is too large to be ever sent."""
        if size > self._limit:
            raise OversizedEntryError(
                f"an entry has {size} bytes, more than max_record_size_in_bytes = {self._limit}; "
                "make it smaller, or raise the limit if the service allows"
            )


def at(context: WriteContext | None, sequence: int) -> WriteContext:
    """A context of its own for the element with this sequence, like `context` in all else."""
    if context is None:
        return WriteContext(sequence=sequence)
    return WriteContext(context.timestamp, context.current_watermark, sequence)
