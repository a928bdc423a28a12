"""A writer that is no AsyncSinkWriter keeps accounts and dead letters by the same parts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Never, Self

import anyio
import pytest

from asyncsink import (
    Accounting,
    BytesSerializer,
    DeadLetterQueue,
    EntryBlock,
    InitContext,
    ListBlock,
    Sink,
    SinkWriter,
    TooManyRejectedError,
    WriteContext,
)
from asyncsink.context import idempotency_prefix
from asyncsink.dead_letters import DeadLetterMaker, DeadLetterMemory, DeadLetterReason
from asyncsink.errors import DeadLetterError
from asyncsink_testing.virtual_time import virtual

from .letters import CONTEXT


class ProducerSink(Sink[bytes, Never, Never, Never]):
    """Of a client that batches by itself, such as a producer of Kafka: one call an entry, one answer an entry."""

    entry_serializer = BytesSerializer()

    def __init__(self, store: DeadLetterMemory) -> None:
        self.store = store
        self.stored: list[bytes] = []

    def create_writer(self, context: InitContext, states: Sequence[Never] = ()) -> ProducerWriter:
        return ProducerWriter(self, context)


class ProducerWriter(SinkWriter[bytes, Never, Never]):
    def __init__(self, sink: ProducerSink, context: InitContext) -> None:
        self.accounting = Accounting()
        self._sink, self._context, self._stack = sink, context, AsyncExitStack()
        self._maker = DeadLetterMaker(sink, context, idempotency_prefix(context))
        self._produced: list[tuple[int, bytes]] = []

    async def __aenter__(self) -> Self:
        store = await self._stack.enter_async_context(self._sink.store.open(self._context))
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(tasks.cancel_scope.cancel)
        self._letters = DeadLetterQueue(store, on_written=self._on_written, on_failed=lambda error: None)
        tasks.start_soon(self._letters.run)
        return self

    async def write(self, element: bytes, context: WriteContext | None = None) -> None:
        self._produced.append((self.accounting.accepted, element))
        self.accounting.accepted += 1

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        for at in range(len(block)):
            await self.write(block[at])

    async def flush(self, end_of_input: bool = False) -> None:
        for sequence, entry in self._produced:
            if entry.startswith(b"bad"):
                letter = self._maker.of_entry(entry, DeadLetterReason.REJECTED, "400", "bad", sequence=sequence)
                self._letters.put([letter])
            else:
                self._sink.stored.append(entry)
                self.accounting.acknowledged += 1
        self._produced.clear()
        self.accounting.check(held=self._letters.pending)
        await self._letters.flush()
        self.accounting.check(held=0)
        self.accounting.check_rejected(0.1)

    async def aclose(self) -> None:
        await self._stack.aclose()

    def _on_written(self, count: int) -> None:
        self.accounting.dead_lettered += count


@virtual
async def test_a_flush_returns_when_letters_are_durable_and_counts_add_up() -> None:
    sink = ProducerSink(DeadLetterMemory(delay_s=3.0))
    async with sink.create_writer(CONTEXT) as writer:
        for entry in (b"one", b"bad two", b"three"):
            await writer.write(entry)
        await writer.flush()
        assert anyio.current_time() >= 3.0
        assert (writer.accounting.acknowledged, writer.accounting.dead_lettered) == (2, 1)
    assert sink.stored == [b"one", b"three"]
    (letter,) = sink.store.letters
    assert letter.connector.endswith("ProducerSink")
    assert (letter.idempotency_id, letter.entry) == ("q/7/3/1", b"bad two")


@virtual
async def test_too_many_letters_fail_it_too() -> None:
    writer = ProducerSink(DeadLetterMemory()).create_writer(CONTEXT)
    with pytest.raises(TooManyRejectedError, match="11 of 100 elements"):
        async with writer:
            await writer.write_block(ListBlock([b"bad"] * 11 + [b"good"] * 89, [4] * 100))


@virtual
async def test_a_store_that_fails_is_told_by_the_flush_and_what_was_pending_does_not_count() -> None:
    sink = ProducerSink(DeadLetterMemory(errors=[OSError("disk full")]))
    writer = sink.create_writer(CONTEXT)
    with pytest.raises(DeadLetterError) as raised:
        async with writer:
            await writer.write(b"bad")
    assert isinstance(raised.value.__cause__, OSError)
    assert (writer.accounting.dead_lettered, writer.accounting.unacknowledged) == (0, 1)
