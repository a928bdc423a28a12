"""What becomes of a writer whose task is cancelled from outside, and goes on under a shield."""

from __future__ import annotations

import anyio
import pytest

from asyncsink import WriterClosedError
from asyncsink_testing import FakeDestination, FakeSink
from asyncsink_testing.virtual_time import virtual

from .harness import entries, small


@virtual
async def test_a_shielded_flush_of_a_cancelled_task_is_refused_instead_of_waiting_for_ever() -> None:
    writer = FakeSink(FakeDestination()).open(small())
    with anyio.move_on_after(1.0):
        async with writer:
            await writer.write_many(entries(1, 2))
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.fail_after(1000.0, shield=True), pytest.raises(WriterClosedError, match="closed"):
                    await writer.flush(end_of_input=True)
    assert len(writer.snapshot_state()[0].entries) == 2
