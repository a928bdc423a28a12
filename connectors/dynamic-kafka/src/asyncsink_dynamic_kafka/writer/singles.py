"""Records that are written one by one: most can be taken at a glance, and are routed many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncsink.context import WriteContext
from asyncsink_dynamic_kafka.converter import DynamicKafkaConverter, StreamConverter
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_kafka.writer.plain import plain_size

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.writer.delivery import Delivery
    from asyncsink_dynamic_kafka.writer.intake import Intake

_NO_CONTEXT: Final = WriteContext()


class Singles:
    """Takes elements that become plain records of streams that are known.

    :param most: the bytes that a record may have
    """

    def __init__(self, converter: StreamConverter, intake: Intake, delivery: Delivery, most: int) -> None:
        self._converter, self._intake, self._delivery, self._most = converter, intake, delivery, most
        self._tail, self._books = delivery.tail, delivery.books
        self._is_own = isinstance(converter, DynamicKafkaConverter)

    def take(self, element: Any, context: WriteContext | None) -> bool:
        """Accept an element; False for one that has to be looked at, which is not accepted."""
        try:
            record = element if self._is_record(element) else self._converter.apply(element, self._context(context))
        except Exception:
            return False  # who looks at it says what is wrong with it
        size = self._plain_size(record)
        if size is None:
            return False
        self._tail.append(record, self._intake.offer(1, context), size)
        self._books.accounting.accepted += 1
        if len(self._tail) == 1:
            self._books.notify()
        return True

    def _is_record(self, element: Any) -> bool:
        """Whether the sink's own converter would return it as it is, should nothing else be wrong with it."""
        return self._is_own and type(element) is KafkaStreamRecord

    def _context(self, context: WriteContext | None) -> WriteContext:
        """The context of the next element; the sink's own converter looks at none."""
        if context is not None:
            return context
        return _NO_CONTEXT if self._is_own else WriteContext(sequence=self._intake.next)

    def _plain_size(self, record: Any) -> int | None:
        if not isinstance(record, KafkaStreamRecord) or type(record.stream_id) is not str:
            return None
        if record.stream_id not in self._delivery.metadata.streams:
            return None
        return plain_size(record, self._most)
