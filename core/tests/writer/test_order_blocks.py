"""The order of keys over Arrow blocks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from asyncsink.arrow import ArrowBlock
from asyncsink_testing import FakeDestination, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import settled
from .keyed import AtomicSink, KeyedEntry, KeyedSink, check_order, keyed


def entry_of(batch: pa.RecordBatch, index: int) -> KeyedEntry:
    return KeyedEntry(batch.column(0)[index].as_py(), batch.column(1)[index].as_py())


def block(first: int, keys: str, known: bool) -> ArrowBlock[KeyedEntry]:
    """An entry for each letter, which is its key; a dot has none."""
    given = [None if key == "." else key for key in keys]
    batch = pa.record_batch({"name": pa.array(range(first, first + len(keys))), "key": pa.array(given, pa.string())})
    return ArrowBlock(batch, entry_of, [1] * len(keys), given if known else None)


FAULTS = [
    Step(Fault.THROTTLED, 1.0),
    Step.partly(Fault.PARTLY_FAILED, 0, latency_s=1.0, retry_after_s=3.0),
    Step(Fault.DISCONNECTED, 1.0),
    Step.partly(Fault.PARTLY_THROTTLED, 1, latency_s=0.5),
    Step(Fault.HANGING),
]


@pytest.mark.parametrize("known", [True, False], ids=["keys given", "keys asked"])
@pytest.mark.parametrize("rotation", range(5))
@virtual
async def test_keys_keep_their_order_over_blocks_and_failures(known: bool, rotation: int) -> None:
    destination = FakeDestination([*FAULTS[rotation:], *FAULTS[:rotation]])
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_block(block(0, "aabbc.aabbcc", known))
        await writer.write_block(block(12, "a", known))
        await writer.write_block(block(13, "cba.cba.cbacba", known))
        await writer.flush(end_of_input=True)
        lane: Any = writer._engine.lane(None)
        assert (lane._lines, lane._left, lane._kept_bytes) == ({}, {}, 0)
    assert {entry.name for entry in destination.stored} == set(range(27))
    check_order(destination)


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.DISCONNECTED, Fault.ANSWER_LOST, Fault.HANGING])
@virtual
async def test_a_sink_that_stores_requests_whole_sends_runs_of_a_key(fault: Fault) -> None:
    destination = FakeDestination([fault, Step(latency_s=1.0), fault])
    async with AtomicSink(destination).open(keyed()) as writer:
        await writer.write_block(block(0, "aaaabbbbccccaaaa", known=True))
    assert {entry.name for entry in destination.stored} == set(range(16))
    check_order(destination, atomic=True)


class BlockSink(KeyedSink):
    """Looks at the block of each request, as an encoder of columns does."""

    seen: list[tuple[type[Any], list[int]]]

    async def submit_request_entries(self, entries: Any, client: Any) -> Any:
        self.seen.append((type(entries.block), [entry.name for entry in entries.block]))
        return await super().submit_request_entries(entries, client)


@virtual
async def test_a_request_is_still_an_arrow_block_with_its_own_rows() -> None:
    destination = FakeDestination()
    sink = BlockSink(destination)
    sink.seen = []
    async with sink.open(keyed(max_batch_size=5)) as writer:
        await writer.write_block(block(0, "aabbcde", known=True))
        await settled()
    assert {kind for kind, _ in sink.seen} == {ArrowBlock}
    assert [names for _, names in sink.seen] == [
        [entry.name for entry in each.entries] for each in destination.requests
    ]
    assert sink.seen[0][1] == [0, 2, 4, 5, 6]
