"""What a task tells of a writer, whatever class the writer is of."""

from __future__ import annotations

from typing import Any, Never

import pytest

from asyncsink import EntryBlock, SinkWriter, WriteContext
from asyncsink.errors import AccountingError
from asyncsink.spark.commit import TaskCommit, summed
from asyncsink.spark.writing import counted
from asyncsink.writer import WriterStatistics


class Producer(SinkWriter[bytes, Never, bytes]):
    """A writer of one's own, without statistics."""

    async def write(self, element: bytes, context: WriteContext | None = None) -> None:
        raise AssertionError("only what it tells is asked for")

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        raise AssertionError("only what it tells is asked for")

    async def flush(self, end_of_input: bool = False) -> None:
        raise AssertionError("only what it tells is asked for")

    async def aclose(self) -> None:
        """Nothing is held."""


class CountingProducer(Producer):
    """One that counts."""

    def __init__(self, told: Any) -> None:
        self._told = told

    def statistics(self) -> Any:
        return self._told


def test_a_writer_of_ones_own_with_statistics_is_asked_for_them() -> None:
    told = WriterStatistics(accepted=5, acknowledged=3, dead_lettered=1, dropped=1, requests=2)
    counts = counted(CountingProducer(told), 5, {})
    assert {name: counts[name] for name in ("rows", "dead_lettered", "dropped", "left", "requests")} == {
        "rows": 3,
        "dead_lettered": 1,
        "dropped": 1,
        "left": 0,
        "requests": 2,
    }
    assert summed("toy", 0, [TaskCommit(0, rows_in=5, **counts)]).rows == 3


def test_a_row_that_a_writer_of_ones_own_has_not_counted_is_an_error_of_the_batch() -> None:
    counts = counted(CountingProducer(WriterStatistics(accepted=4, acknowledged=4)), 5, {})
    with pytest.raises(AccountingError, match=r"5 rows .* 4 stored"):
        summed("toy", 0, [TaskCommit(0, rows_in=5, **counts)])


@pytest.mark.parametrize("writer", [Producer(), CountingProducer({"rows": 1})], ids=["none", "of another kind"])
def test_a_writer_without_such_statistics_has_stored_all_that_it_was_given(writer: Producer) -> None:
    assert counted(writer, 5, {}) == {"rows": 5}
