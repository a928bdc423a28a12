"""Arrow batches, of which the writer asks for nothing but their length, their slices and their rows."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import ConversionError, ListBlock, OversizedEntryError, WriteContext
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, IdentityConverter, Step
from asyncsink_testing.virtual_time import virtual

from .harness import small, stored


class Batch:
    """Rows, as a ``pyarrow.RecordBatch`` shows them."""

    def __init__(self, *names: Any, sizes: dict[Any, int] | None = None) -> None:
        self._rows = [{"name": name, "size": (sizes or {}).get(name, 1)} for name in names]

    def __len__(self) -> int:
        return len(self._rows)

    def slice(self, offset: int, length: int) -> Batch:
        part = Batch()
        part._rows = self._rows[offset : offset + length]
        return part

    def to_pylist(self) -> list[dict[str, Any]]:
        return self._rows


class Rows(IdentityConverter):
    """Converts rows one by one, all but those with the name bad; keeps the sequence of each."""

    def __init__(self) -> None:
        self.sequences: dict[Any, int] = {}
        self.timestamps: set[int | None] = set()

    def apply(self, element: Any, context: WriteContext) -> Any:
        if element["name"] == "bad":
            raise ValueError("no such thing")
        self.sequences[element["name"]] = context.sequence
        self.timestamps.add(context.timestamp)
        return FakeEntry(element["name"], element["size"])


class Blocks(Rows):
    """Converts whole batches too; it fails for those with a bad row, and for those with a hard one beside others."""

    def __init__(self) -> None:
        super().__init__()
        self.firsts: list[int] = []

    def apply_batch(self, batch: Any, context: WriteContext) -> ListBlock[FakeEntry]:
        self.firsts.append(context.sequence)
        rows = batch.to_pylist()
        if any(row["name"] == "bad" or (row["name"] == "hard" and len(rows) > 1) for row in rows):
            raise ValueError("no such thing")
        if len(rows) == 1:
            self.sequences[rows[0]["name"]] = context.sequence
            self.timestamps.add(context.timestamp)
        made = [FakeEntry(row["name"], row["size"]) for row in rows]
        return ListBlock(made, [entry.size for entry in made])


class Sink(FakeSink):
    """Has the converter that it is given."""

    made: Rows

    def converter(self, schema: Any) -> Rows:
        return self.made


def sink_with(made: Rows, destination: FakeDestination) -> Sink:
    sink = Sink(destination)
    sink.made = made
    return sink


@virtual
async def test_without_apply_batch_the_elements_are_the_rows_as_dictionaries() -> None:
    destination, rows = FakeDestination(), Rows()
    async with sink_with(rows, destination).open(small()) as writer:
        await writer.write_batch(Batch(1, 2, 3, 4))
        await writer.write_batch(Batch())
        await writer.write_batch(Batch(5))
        assert writer.statistics().accepted == 5
    assert stored(destination) == [1, 2, 3, 4, 5]
    assert rows.sequences == {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}


@virtual
async def test_apply_batch_makes_all_entries_of_a_batch_at_once() -> None:
    destination, blocks = FakeDestination(), Blocks()
    async with sink_with(blocks, destination).open(small()) as writer:
        await writer.write_batch(Batch(1, 2, 3, 4))
        await writer.write_batch(Batch())
        await writer.write_batch(Batch(5, 6), WriteContext(timestamp=77, sequence=40))
        await writer.write_batch(Batch(7, 8))
    assert stored(destination) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert blocks.firsts == [0, 4, 40, 6], "a sequence of the caller's own counts its elements too"
    assert blocks.sequences == {}, "no row was converted by itself"


@virtual
async def test_a_batch_that_fails_as_a_whole_but_in_no_row_is_accepted_row_by_row() -> None:
    destination, blocks = FakeDestination(), Blocks()
    async with sink_with(blocks, destination).open(small()) as writer:
        await writer.write_batch(Batch(1, 2))
        await writer.write_batch(Batch(3, "hard", 5))
        assert writer.statistics().accepted == 5
    assert stored(destination) == [1, 2, 3, "hard", 5]
    assert blocks.sequences == {3: 2, "hard": 3, 5: 4}


@pytest.mark.parametrize("converter", [Rows, Blocks])
@virtual
async def test_the_row_at_fault_is_named_by_its_sequence_and_those_before_it_are_accepted(
    converter: type[Rows],
) -> None:
    destination = FakeDestination()
    async with sink_with(converter(), destination).open(small()) as writer:
        await writer.write_batch(Batch(1, 2))
        with pytest.raises(ConversionError, match="element 4: ValueError: no such thing") as caught:
            await writer.write_batch(Batch(3, 4, "bad", 6))
        assert isinstance(caught.value.__cause__, ValueError)
        assert writer.statistics().accepted == 4
        await writer.write_batch(Batch(7))
    assert stored(destination) == [1, 2, 3, 4, 7]


@pytest.mark.parametrize("converter", [Rows, Blocks])
@virtual
async def test_the_sequence_and_the_rest_of_the_callers_context_are_used(converter: type[Rows]) -> None:
    destination, rows = FakeDestination(), converter()
    async with sink_with(rows, destination).open(small()) as writer:
        with pytest.raises(ConversionError, match="element 1002"):
            await writer.write_batch(Batch(1, 2, "bad"), WriteContext(timestamp=77, sequence=1000))
    assert rows.sequences == {1: 1000, 2: 1001}
    assert rows.timestamps == {77}


@pytest.mark.parametrize("converter", [Rows, Blocks])
@virtual
async def test_an_oversized_row_raises_and_those_before_it_are_accepted(converter: type[Rows]) -> None:
    destination = FakeDestination()
    async with sink_with(converter(), destination).open(small()) as writer:
        with pytest.raises(OversizedEntryError, match=r"101.*= 100"):
            await writer.write_batch(Batch(1, 2, 3, 4, sizes={3: 101}))
        assert writer.statistics().accepted == 2
    assert stored(destination) == [1, 2]


@pytest.mark.parametrize("converter", [Rows, Blocks])
@virtual
async def test_a_batch_larger_than_the_buffer_goes_in_slices_and_a_cancelled_one_has_accepted_a_prefix(
    converter: type[Rows],
) -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 99)
    async with sink_with(converter(), destination).open(small(max_buffered_requests=4)) as writer:
        await writer.write_batch(Batch(*range(15)))
        assert anyio.current_time() > 1.0
        with anyio.move_on_after(1.5):
            await writer.write_batch(Batch(*range(15, 60)))
        accepted = writer.statistics().accepted
        assert 15 < accepted < 60
    assert stored(destination) == [*range(accepted)]


@virtual
async def test_a_converter_that_makes_too_few_entries_of_a_batch_is_told_so() -> None:
    class Short(Blocks):
        def apply_batch(self, batch: Any, context: WriteContext) -> ListBlock[FakeEntry]:
            return ListBlock([FakeEntry(0)], [1])

    async with sink_with(Short(), FakeDestination()).open(small()) as writer:
        with pytest.raises(ConversionError, match="1 entries of 3 elements"):
            await writer.write_batch(Batch(1, 2, 3))
        assert writer.statistics().accepted == 0


@virtual
async def test_a_converter_that_makes_no_entry_of_a_single_row_is_told_so() -> None:
    class Short(Blocks):
        def apply_batch(self, batch: Any, context: WriteContext) -> ListBlock[FakeEntry]:
            return super().apply_batch(batch, context) if len(batch) > 1 else ListBlock([], [])

    async with sink_with(Short(), FakeDestination()).open(small()) as writer:
        with pytest.raises(ConversionError, match="0 entries of 1 elements"):
            await writer.write_batch(Batch(1, "bad"))
