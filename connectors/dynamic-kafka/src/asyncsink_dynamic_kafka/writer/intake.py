"""From what is written to blocks of records: converting, checking, and finding the element at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from asyncsink.arrow.rows import rows_of
from asyncsink.context import WriteContext
from asyncsink.writer.intake import at
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import NO_STREAM, StreamBlock
from asyncsink_dynamic_kafka.writer.streams import NOT_SUBSCRIBED, named, why_refused
from asyncsink_kafka.encoding import sizes_beyond
from asyncsink_kafka.row_checks import check_rows
from asyncsink_kafka.writer.converting import Converting
from asyncsink_kafka.writer.rejections import Refused

Part = tuple[StreamBlock | None, list[Refused]]
"""Records that can be sent, and rows that cannot."""

_ROUTED: Final = "routed"
"""Stands for the topic while rows are checked: the router chooses among those of the metadata."""


class Intake(Converting):
    """Makes blocks of elements and of Arrow batches.

    :param is_subscribed: whether there is a stream of this id
    """

    def __init__(self, converter: Any, *, max_record_bytes: int, is_subscribed: Callable[[str], bool]) -> None:
        super().__init__(converter)
        self._most, self._is_subscribed = max_record_bytes, is_subscribed

    # ---- converting ------------------------------------------------------------------------------------------

    def of_elements(self, elements: Sequence[Any], context: WriteContext | None) -> Part:
        """Elements, each by the converter."""
        first = self.offer(len(elements), context)
        try:
            made = _stream_records(self.converter.apply_many(elements, at(context, first)))
            return self._checked(StreamBlock.of(made, first))
        except Exception as error:
            self._warn(error, len(elements))
        return self._one_by_one(
            elements, first, lambda element, place: self.converter.apply(element, at(context, place))
        )

    def of_records(self, entries: Sequence[Any], context: WriteContext | None) -> Part:
        """Records that are converted already."""
        return self._checked(StreamBlock.of(_stream_records(entries), self.offer(len(entries), context)))

    def of_batch(self, batch: Any, context: WriteContext | None) -> Part:
        """The rows of a ``pyarrow.RecordBatch``, all at once where that goes well."""
        first = self.offer(batch.num_rows, context)
        try:
            return self._checked(self._converted(batch, first))
        except Exception as error:
            self._warn(error, batch.num_rows)
        rows = [batch.slice(place, 1) for place in range(batch.num_rows)]

        def apply(row: Any, place: int) -> KafkaStreamRecord:
            return self._converted(row, place).record(0)

        return self._one_by_one(rows, first, apply)

    def _converted(self, batch: Any, first: int) -> StreamBlock:
        converter, context = self.converter, WriteContext(sequence=first)
        if (convert := getattr(converter, "block", None)) is not None:
            block: StreamBlock = convert(batch, first)
            return block
        apply_batch = getattr(converter, "apply_batch", None)
        made = converter.apply_many(rows_of(batch), context) if apply_batch is None else apply_batch(batch, context)
        if len(made) != batch.num_rows:
            raise ValueError(f"{type(converter).__name__} made {len(made)} records of {batch.num_rows} rows")
        return StreamBlock.of(_stream_records([*made]), first)

    def _one_by_one(self, elements: Sequence[Any], first: int, apply: Callable[[Any, int], Any]) -> Part:
        def convert(element: Any, place: int) -> KafkaStreamRecord:
            (record,) = _stream_records([apply(element, place)])
            StreamBlock.of([record], place)
            return record

        made, sequences, refused = self._sift(elements, first, convert)
        block, wrong = self._checked(StreamBlock.of(made, np.asarray(sequences, dtype=np.int64)))
        return block, sorted([*refused, *wrong], key=lambda each: each.sequence)

    # ---- checking --------------------------------------------------------------------------------------------

    def _checked(self, block: StreamBlock) -> Part:
        wrong = {row: (code, message) for row, code, message in self._unsubscribed(block)}
        for row, code, message in check_rows(
            block.records,
            sizes_beyond(block.records, self._most),
            default_topic=_ROUTED,
            allowed=None,
            max_record_bytes=self._most,
        ):
            wrong.setdefault(row, (code, message))
        if not wrong:
            return block, []
        keep = np.ones(len(block), dtype=bool)
        keep[[*wrong]] = False
        sequence = block.records.sequence
        refused = [Refused(int(sequence[row]), *wrong[row], named(block, row)) for row in sorted(wrong)]
        return block.take(np.flatnonzero(keep)), refused

    def _unsubscribed(self, block: StreamBlock) -> Iterator[tuple[int, str, str]]:
        for place in (np.flatnonzero(np.bincount(block.stream_of + 1)) - 1).tolist():
            stream_id = None if place == NO_STREAM else block.streams[place]
            if stream_id is not None and self._is_subscribed(stream_id):
                continue
            for row in np.flatnonzero(block.stream_of == place).tolist():
                yield row, NOT_SUBSCRIBED, why_refused(stream_id)


def _stream_records(entries: Sequence[Any]) -> list[KafkaStreamRecord]:
    for each in entries:
        if not isinstance(each, KafkaStreamRecord):
            raise TypeError(
                f"{type(each).__name__} is no KafkaStreamRecord, which a converter for streams of Kafka has to make"
            )
    return [*entries]
