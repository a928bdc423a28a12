"""From what is written to rows as Arrow columns: converting, checking, and finding the element at fault."""

from __future__ import annotations

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
from asyncsink_kafka.writer.converting import Converting
from asyncsink_kafka.writer.rejections import Refused

Part = tuple[Records | None, list[Refused]]
"""Rows that can be sent, and rows after them that cannot."""


class Intake(Converting):
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
        super().__init__(converter)
        self._topic, self._allowed, self._most = topic, allowed, max_record_bytes

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

        def convert(element: Any, sequence: int) -> KafkaRecord:
            (record,) = self._records([self.converter.apply(element, at(context, sequence))])
            Records.of([record], sequence)
            return record

        records, sequences, refused = self._sift(elements, first, convert)
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
        alone = (batch.slice(place, 1) for place in range(batch.num_rows))
        good, _, refused = self._sift(alone, first, self._converted)
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
