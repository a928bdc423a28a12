"""From what is written to rows as Arrow columns: converting, checking, and finding the element at fault."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from asyncsink.context import WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.writer.intake import at
from asyncsink_kafka.converter import KafkaConverter
from asyncsink_kafka.encoding import sizes_beyond
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records
from asyncsink_kafka.row_checks import RefusedRow, check_rows
from asyncsink_kafka.writer.rejections import Refused

logger = logging.getLogger(__name__)

Part = tuple[Records | None, list[Refused]]
"""Rows that can be sent, and rows after them that cannot."""


class Intake:
    """Makes rows of elements and of Arrow batches.

    :param allowed: the topics that may be written to; None for all
    """

    def __init__(
        self,
        converter: ElementConverter[Any, Any],
        *,
        topic: str | None,
        allowed: Callable[[str], bool] | None,
        max_record_bytes: int,
    ) -> None:
        self.converter = converter
        self._topic, self._allowed, self._most = topic, allowed, max_record_bytes
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

    # ---- converting ------------------------------------------------------------------------------------------

    def of_elements(self, elements: Sequence[Any], context: WriteContext | None) -> Part:
        """Elements, each by the converter."""
        first = self.offer(len(elements), context)
        try:
            return self._checked(
                Records.of(self._records(self.converter.apply_many(elements, at(context, first))), first)
            )
        except Exception as error:
            self._warn(error, len(elements))
        records: list[KafkaRecord] = []
        sequences: list[int] = []
        refused: list[Refused] = []
        for place, element in enumerate(elements):
            try:
                (record,) = self._records([self.converter.apply(element, at(context, first + place))])
                Records.of([record], first + place)
            except Exception as error:
                refused.append(self._refused(element, first + place, error))
            else:
                records.append(record)
                sequences.append(first + place)
        rows, wrong = self._checked(Records.of(records, np.asarray(sequences, dtype=np.int64)))
        return rows, sorted([*refused, *wrong], key=lambda each: each.sequence)

    def of_records(self, entries: Sequence[Any], context: WriteContext | None) -> Part:
        """Records that are converted already."""
        return self._checked(Records.of(self._records(entries), self.offer(len(entries), context)))

    def of_columns(self, records: Records) -> Part:
        """Records that are columns already, with sequences that ascend."""
        if len(records):
            self._next = max(self._next, int(records.sequence[-1]) + 1)
        return self._checked(records)

    def of_batch(self, batch: Any, context: WriteContext | None) -> Part:
        """The rows of a ``pyarrow.RecordBatch``, all at once where that goes well."""
        first = self.offer(batch.num_rows, context)
        try:
            return self._checked(self._converted(batch, first))
        except Exception as error:
            self._warn(error, batch.num_rows)
        good: list[Records] = []
        refused: list[Refused] = []
        for place in range(batch.num_rows):
            row = batch.slice(place, 1)
            try:
                good.append(self._converted(row, first + place))
            except Exception as error:
                refused.append(self._refused(row, first + place, error))
        if not good:
            return None, refused
        rows, wrong = self._checked(Records.concat(good))
        return rows, sorted([*refused, *wrong], key=lambda each: each.sequence)

    def _converted(self, batch: Any, first: int) -> Records:
        converter = self.converter
        if isinstance(converter, KafkaConverter):
            return converter.records(batch, first)
        apply_batch = getattr(converter, "apply_batch", None)
        context = WriteContext(sequence=first)
        entries = (
            converter.apply_many(batch.to_pylist(), context) if apply_batch is None else apply_batch(batch, context)
        )
        if len(entries) != batch.num_rows:
            raise ValueError(f"{type(converter).__name__} made {len(entries)} records of {batch.num_rows} rows")
        return Records.of(self._records(list(entries)), first)

    def _records(self, entries: Sequence[Any]) -> Sequence[KafkaRecord]:
        for each in entries:
            if not isinstance(each, KafkaRecord):
                raise TypeError(f"{type(each).__name__} is no KafkaRecord, which a converter for Kafka has to make")
        return entries

    def _warn(self, error: Exception, count: int) -> None:
        if not self._has_warned and count > 1:
            self._has_warned = True
            name = type(self.converter).__name__
            told = type(error).__name__, error
            logger.warning("%s could not convert %d rows at once (%s: %s); it goes on one by one", name, count, *told)

    def _refused(self, element: Any, sequence: int, error: Exception) -> Refused:
        name = type(self.converter).__name__
        told = f"{name} could not convert element {sequence}: {type(error).__name__}: {error}"
        return Refused(sequence, "ConversionError", told, element=element, cause=error)

    # ---- checking --------------------------------------------------------------------------------------------

    def _checked(self, records: Records) -> Part:
        wrong = check_rows(
            records,
            sizes_beyond(records, self._most),
            default_topic=self._topic,
            allowed=self._allowed,
            max_record_bytes=self._most,
        )
        if not wrong:
            return records, []
        keep = np.ones(len(records), dtype=bool)
        keep[[each.index for each in wrong]] = False
        return records.take(np.flatnonzero(keep)), [*self._wrong(records, wrong)]

    def _wrong(self, records: Records, wrong: Sequence[RefusedRow]) -> Iterator[Refused]:
        for index, code, message in wrong:
            yield Refused(int(records.sequence[index]), code, message, records.record(index))
