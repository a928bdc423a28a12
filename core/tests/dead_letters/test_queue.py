"""The queue in virtual time: groups, lingering, flushing, failing, and who is told what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import anyio
import pytest

from asyncsink.dead_letters import DeadLetter, DeadLetterMemory, DeadLetterQueue
from asyncsink.dead_letters.queue import MAX_BYTES
from asyncsink.errors import DeadLetterError
from asyncsink_testing.virtual_time import virtual

from .letters import CONTEXT, letter, letters, names


class Owner:
    """Keeps what the queue has said, and when."""

    def __init__(self, memory: DeadLetterMemory, linger_s: float = 0.2) -> None:
        self.memory = memory
        self.written: list[tuple[float, int]] = []
        self.failed: list[DeadLetterError] = []
        self.heard = anyio.Event()
        self.queue = DeadLetterQueue(
            memory, on_written=self.on_written, on_failed=self.failed.append, linger_s=linger_s
        )

    def on_written(self, n: int) -> None:
        self.written.append((anyio.current_time(), n))
        self.heard.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[DeadLetterQueue]:
        async with self.memory.open(CONTEXT), anyio.create_task_group() as tasks:
            tasks.start_soon(self.queue.run)
            yield self.queue
            tasks.cancel_scope.cancel()


@virtual
async def test_letters_linger_a_moment_and_go_together() -> None:
    owner = Owner(DeadLetterMemory())
    start_s = anyio.current_time()
    async with owner.running() as queue:
        queue.put(letters(1, 2))
        await anyio.sleep(0.1)
        queue.put(letters(3, 3))
        assert (queue.pending, owner.memory.letters) == (3, [])
        await anyio.sleep(0.2)
    assert names(owner.memory.letters) == [1, 2, 3]
    assert owner.memory.groups == [3]
    ((written_s, n),) = owner.written
    assert written_s - start_s == pytest.approx(0.2)
    assert n == 3
    assert owner.queue.pending == 0


@virtual
async def test_a_flush_does_not_linger() -> None:
    owner = Owner(DeadLetterMemory(delay_s=1.0), linger_s=100.0)
    start_s = anyio.current_time()
    async with owner.running() as queue:
        queue.put(letters(1, 2))
        await queue.flush()
        assert anyio.current_time() == start_s + 1.0
        assert names(owner.memory.letters) == [1, 2]
        await queue.flush()
        assert anyio.current_time() == start_s + 1.0


@virtual
async def test_a_full_group_does_not_linger_and_no_write_is_larger() -> None:
    owner = Owner(DeadLetterMemory(), linger_s=100.0)
    async with owner.running() as queue:
        queue.put(letters(1, 2500))
        await anyio.sleep(1.0)
        assert owner.memory.groups == [1000, 1000, 500]
    assert names(owner.memory.letters) == [*range(1, 2501)]


@virtual
async def test_a_group_is_filled_up_to_full_by_later_letters() -> None:
    owner = Owner(DeadLetterMemory(), linger_s=100.0)
    async with owner.running() as queue:
        queue.put(letters(1, 999))
        await anyio.sleep(1.0)
        assert owner.memory.groups == []
        queue.put(letters(1000, 1000))
        await anyio.sleep(1.0)
        assert owner.memory.groups == [1000]


@virtual
async def test_a_group_is_bounded_in_bytes_but_has_one_letter_at_least() -> None:
    owner = Owner(DeadLetterMemory())
    half = letter(1, entry=b"x" * (MAX_BYTES // 2 - 100))
    owner.queue.put([half, half, half, letter(2, entry=b"x" * (MAX_BYTES + 1)), letter(3)])
    await owner.queue.flush()
    assert owner.memory.groups == [2, 1, 1, 1]
    assert names(owner.memory.letters) == [1, 1, 1, 2, 3]


@virtual
async def test_what_gathers_during_a_write_goes_together_in_the_next() -> None:
    owner = Owner(DeadLetterMemory(delay_s=5.0), linger_s=0.0)
    async with owner.running() as queue:
        for each in letters(1, 6):
            queue.put([each])
            await anyio.sleep(1.0)
        await queue.flush()
    assert owner.memory.groups == [1, 5]
    assert names(owner.memory.letters) == [1, 2, 3, 4, 5, 6]


@virtual
async def test_a_flush_waits_for_the_write_that_is_under_way() -> None:
    owner = Owner(DeadLetterMemory(delay_s=5.0), linger_s=0.0)
    start_s = anyio.current_time()
    async with owner.running() as queue:
        queue.put(letters(1, 1))
        await anyio.sleep(1.0)
        await queue.flush()
        assert anyio.current_time() == start_s + 5.0
        assert owner.memory.groups == [1]


@virtual
async def test_a_flush_does_not_wait_for_what_is_put_after_it() -> None:
    owner = Owner(DeadLetterMemory(delay_s=1.0), linger_s=0.0)
    start_s = anyio.current_time()
    async with owner.running() as queue, anyio.create_task_group() as tasks:

        async def put_for_ever() -> None:
            for name in count(2):
                await anyio.sleep(0.3)
                queue.put(letters(name, name))

        queue.put(letters(1, 1))
        tasks.start_soon(put_for_ever)
        await anyio.sleep(0.1)
        await queue.flush()
        assert anyio.current_time() == start_s + 1.0
        tasks.cancel_scope.cancel()


@virtual
async def test_write_comes_after_what_is_pending_and_is_not_reported() -> None:
    owner = Owner(DeadLetterMemory(delay_s=1.0), linger_s=100.0)
    async with owner.running() as queue:
        queue.put(letters(1, 2))
        await queue.write(letters(3, 3))
        assert names(owner.memory.letters) == [1, 2, 3]
        assert [n for _, n in owner.written] == [2]


@virtual
async def test_write_works_without_a_running_task_and_in_groups() -> None:
    owner = Owner(DeadLetterMemory())
    await owner.queue.write(letters(1, 1001))
    assert owner.memory.groups == [1000, 1]
    assert owner.written == []


@virtual
async def test_a_cancelled_write_leaves_no_letter_behind() -> None:
    owner = Owner(DeadLetterMemory(delay_s=10.0))
    with anyio.move_on_after(1.0):
        await owner.queue.write(letters(1, 1))
    assert (owner.queue.pending, owner.memory.letters) == (0, [])
    await owner.queue.flush()
    assert owner.memory.letters == []


class Slow(DeadLetterMemory):
    """Stores first and answers later: who is cancelled meanwhile cannot know."""

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        await super().write(letters)
        await anyio.sleep(1.0)


@pytest.mark.parametrize(("kind", "expected"), [(DeadLetterMemory, [1, 2]), (Slow, [1, 2, 1, 2])])
def test_cancelled_in_the_middle_of_a_write_letters_are_pending_and_written_by_the_next(
    kind: type[DeadLetterMemory], expected: list[int]
) -> None:
    @virtual
    async def check() -> None:
        owner = Owner(kind(delay_s=1.0), linger_s=0.0)
        async with owner.running() as queue:
            queue.put(letters(1, 2))
            await anyio.sleep(0.5 if kind is DeadLetterMemory else 1.5)
        assert (owner.queue.pending, owner.written) == (2, [])
        await owner.queue.flush()
        assert names(owner.memory.letters) == expected
        assert [n for _, n in owner.written] == [2]
        assert owner.queue.pending == 0

    check()


@virtual
async def test_cancelling_a_flush_leaves_the_rest_to_the_task() -> None:
    owner = Owner(DeadLetterMemory(delay_s=1.0), linger_s=2.0)
    async with owner.running() as queue:
        queue.put(letters(1, 1))
        with anyio.move_on_after(0.5) as scope:
            await queue.flush()
        assert scope.cancelled_caught
        await anyio.sleep(3.0)
        assert names(owner.memory.letters) == [1]
        assert [n for _, n in owner.written] == [1]


@virtual
async def test_the_first_failure_is_told_once_and_raised_by_every_later_call() -> None:
    owner = Owner(DeadLetterMemory(errors=[None, OSError(28, "No space left on device")]), linger_s=0.0)
    async with owner.running() as queue:
        queue.put(letters(1, 1))
        await queue.flush()
        queue.put(letters(2, 3))
        await anyio.sleep(1.0)
        with pytest.raises(DeadLetterError, match="No space left on device; mend the store"):
            await queue.flush()
        with pytest.raises(DeadLetterError, match="by DeadLetterMemory: OSError"):
            await queue.write(letters(4, 4))
        with pytest.raises(DeadLetterError) as caught:
            queue.put(letters(5, 5))
        assert isinstance(caught.value.__cause__, OSError)
        assert queue.pending == 2
    assert names(owner.memory.letters) == [1]
    assert [n for _, n in owner.written] == [1]
    assert len(owner.failed) == 1
    assert owner.queue.failure is owner.failed[0]
    assert isinstance(owner.failed[0].__cause__, OSError)


@virtual
async def test_the_task_returns_after_a_failure_whoever_met_it() -> None:
    owner = Owner(DeadLetterMemory(errors=[OSError("gone")]))
    with anyio.fail_after(10.0):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(owner.queue.run)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(DeadLetterError, match="gone"):
                await owner.queue.write(letters(1, 1))
    assert len(owner.failed) == 1


@virtual
async def test_an_error_of_the_store_itself_is_not_wrapped_again() -> None:
    error = DeadLetterError("/data/dead is full; make room")
    owner = Owner(DeadLetterMemory(errors=[error]))
    with pytest.raises(DeadLetterError) as caught:
        await owner.queue.write(letters(1, 1))
    assert owner.failed == [error]
    assert caught.value.args == error.args


@virtual
async def test_an_owner_that_chains_the_failure_anew_does_not_hide_its_cause() -> None:
    def chain_anew(error: DeadLetterError) -> None:
        error.__cause__ = None

    cause = OSError("gone")
    memory = DeadLetterMemory(errors=[cause])
    queue = DeadLetterQueue(memory, on_written=lambda n: None, on_failed=chain_anew)
    with pytest.raises(DeadLetterError) as caught:
        await queue.write(letters(1, 1))
    assert caught.value.__cause__ is cause


@virtual
async def test_two_flushes_at_once_write_each_letter_once() -> None:
    owner = Owner(DeadLetterMemory(delay_s=1.0))
    owner.queue.put(letters(1, 3))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(owner.queue.flush)
        tasks.start_soon(owner.queue.flush)
    assert names(owner.memory.letters) == [1, 2, 3]


def test_the_queue_works_on_asyncio_too() -> None:
    async def main() -> None:
        owner = Owner(DeadLetterMemory(), linger_s=0.001)
        async with owner.running() as queue:
            queue.put(letters(1, 1))
            await owner.heard.wait()
            assert queue.pending == 0
            queue.put(letters(2, 2))
            await queue.flush()
        assert names(owner.memory.letters) == [1, 2]

    anyio.run(main)
