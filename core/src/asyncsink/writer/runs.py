"""How many elements at once are accepted: in order, in slices as room comes, around those that can never be sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from asyncsink.blocks import EntryBlock, fitting
from asyncsink.context import WriteContext
from asyncsink.writer.engine import Engine
from asyncsink.writer.intake import Intake, Sifted, at
from asyncsink.writer.rejecting import Refused, Rejections
from asyncsink.writer.room import Room


class RunWriter:
    """Accepts sequences, record batches and blocks. Whatever cuts a call short, a prefix has been accepted."""

    __slots__ = ("_engine", "_intake", "_rejections", "_room")

    def __init__(self, engine: Engine, room: Room, intake: Intake, rejections: Rejections) -> None:
        self._engine, self._room, self._intake, self._rejections = engine, room, intake, rejections

    async def write_many(self, elements: Sequence[Any], context: WriteContext | None) -> None:
        """Accept elements, converted in runs as room comes."""
        intake, converter = self._intake, self._intake.converter
        first, start = intake.offer(len(elements), context), 0

        def one_by_one(part: Sequence[Any], sequence: int) -> Sifted:
            return intake.sift(part, context, sequence, self._rejections.fails)

        while start < len(elements):
            await self._room.wait(1)
            stop = min(len(elements), start + self._room.entries)
            part = elements if stop - start == len(elements) else elements[start:stop]
            await self._write_run(part, at(context, first + start), converter.apply_many, one_by_one)
            start = stop

    async def write_batch(
        self, batch: Any, context: WriteContext | None, apply_batch: Callable[[Any, WriteContext], Any]
    ) -> None:
        """Accept the rows of a record batch, converted all at once."""
        intake = self._intake
        first = intake.offer(len(batch), context)

        def one_by_one(rows: Any, sequence: int) -> Sifted:
            return intake.sift_rows(rows, context, sequence, apply_batch, self._rejections.fails)

        await self._room.wait(1)
        await self._write_run(batch, at(context, first), apply_batch, one_by_one)

    async def _write_run(
        self,
        run: Any,
        context: WriteContext,
        convert: Callable[[Any, WriteContext], Any],
        one_by_one: Callable[[Any, int], Sifted],
    ) -> None:
        """Convert a run at once; where that fails, one by one, to find those at fault."""
        first = context.sequence
        block = self._intake.convert_run(run, context, convert)
        if block is not None:
            await self.write_block(block, range(first, first + len(block)))
        else:
            await self.write_block(*one_by_one(run, first))

    async def write_block(
        self, block: EntryBlock[Any], sequences: Sequence[int], refused: Sequence[Refused] = ()
    ) -> None:
        """Accept a block, around the elements that could not be converted and the entries that are too large."""
        large = block.oversized(self._engine.max_record_size_in_bytes)
        if not large and not refused:
            await self._write_slices(block, 0, len(block))
            return
        bad = [*refused, *(self._intake.refused_entry(block, index, sequences[index]) for index in large)]
        bad.sort(key=lambda each: each.sequence)
        await self._rejections.keep(bad)
        start = 0
        for each in bad:
            await self._write_slices(block, start, each.place)
            self._engine.close_tail()
            self._rejections.accept(each)
            start = each.place + 1 if each.is_entry else each.place
        await self._write_slices(block, start, len(block))

    async def _write_slices(self, block: EntryBlock[Any], start: int, stop: int) -> None:
        engine, room = self._engine, self._room
        while start < stop:
            await room.wait(block.size_in_bytes(start, start + 1))
            end = max(start + 1, fitting(block, start, min(stop, start + room.entries), room.bytes))
            if engine.cuts is not None:
                end = engine.cuts.before_mark(block, start, end)
            part = block if end - start == len(block) else block.slice(start, end)
            engine.add(part, block.size_in_bytes(start, end))
            engine.accounting.accepted += end - start
            engine.plan()
            start = end
