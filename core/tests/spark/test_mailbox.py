"""The mailbox and the worker's loop, without Spark: real threads, so counts and order are asserted, never durations."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

import anyio.to_thread
import pytest

from asyncsink.errors import FatalRequestError, WriterClosedError, WriterFailedError
from asyncsink.spark.mailbox import DEPTH, SLOT_BYTES, Mailbox
from asyncsink.spark.worker import Worker

ResultT = TypeVar("ResultT")


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    if made.is_alive:
        made.serve(end_the_loop)


def hand_over(mailbox: Mailbox[int, ResultT], items: Iterable[int]) -> ResultT:
    with mailbox:
        for item in items:
            mailbox.put(item)
        return mailbox.finish()


async def end_the_loop(mailbox: Mailbox[int, int]) -> int:
    raise SystemExit("the connector called sys.exit")


async def collect(mailbox: Mailbox[int, list[int]]) -> list[int]:
    return [item async for item in mailbox]


def test_items_arrive_in_order_and_the_result_comes_back(worker: Worker) -> None:
    assert hand_over(worker.serve(collect), range(1000)) == list(range(1000))


def test_one_loop_serves_one_task_after_another(worker: Worker) -> None:
    async def thread(mailbox: Mailbox[int, threading.Thread]) -> threading.Thread:
        return threading.current_thread()

    assert len({worker.serve(thread).finish() for _ in range(3)}) == 1


@pytest.mark.parametrize(
    ("size_in_bytes", "waiting"),
    [(0, DEPTH), (SLOT_BYTES - 1, DEPTH), (SLOT_BYTES, DEPTH // 2), (100 * SLOT_BYTES, 1)],
)
def test_the_thread_waits_while_the_mailbox_is_full(worker: Worker, size_in_bytes: int, waiting: int) -> None:
    seen = threading.Event()
    go = threading.Event()
    put: list[int] = []

    async def slow(mailbox: Mailbox[int, int]) -> int:
        async for _ in mailbox:
            seen.set()
            await anyio.to_thread.run_sync(go.wait)
        return 0

    def produce() -> None:
        for item in range(20):
            mailbox.put(item, size_in_bytes)
            put.append(item)

    mailbox = worker.serve(slow)
    producer = threading.Thread(target=produce)
    producer.start()
    assert seen.wait(10)
    while len(put) < waiting + 1:
        producer.join(0.001)
    producer.join(0.05)
    # One is being written and so many wait; the next put does not return.
    assert len(put) == waiting + 1
    go.set()
    producer.join(10)
    assert len(put) == 20
    mailbox.finish()


def test_an_error_of_the_service_reaches_a_thread_that_waits_for_room(worker: Worker) -> None:
    async def failing(mailbox: Mailbox[int, int]) -> int:
        async for _ in mailbox:
            await anyio.sleep(0.02)
            raise FatalRequestError("refused for good")
        return 0

    with pytest.raises(FatalRequestError, match="refused for good"):
        hand_over(worker.serve(failing), range(100))


def test_an_error_while_finishing_reaches_the_thread(worker: Worker) -> None:
    async def failing(mailbox: Mailbox[int, int]) -> int:
        async for _ in mailbox:
            pass
        raise FatalRequestError("the flush failed")

    with pytest.raises(FatalRequestError, match="the flush failed"):
        hand_over(worker.serve(failing), [1])


def test_an_error_of_the_thread_cancels_the_service(worker: Worker) -> None:
    cancelled = threading.Event()

    async def endless(mailbox: Mailbox[int, int]) -> int:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise
        return 0

    def items() -> Iterator[int]:
        yield 1
        raise KeyError("Spark's iterator failed")

    mailbox = worker.serve(endless)
    with pytest.raises(KeyError):
        hand_over(mailbox, items())
    assert cancelled.wait(10)
    with pytest.raises(WriterFailedError, match="given up"):
        mailbox.result()


def test_an_item_for_a_service_that_has_ended_is_refused(worker: Worker) -> None:
    async def first_only(mailbox: Mailbox[int, int]) -> int:
        return 1

    mailbox = worker.serve(first_only)
    assert mailbox.result() == 1
    with pytest.raises(WriterClosedError, match="before its last item"):
        mailbox.put(1)


@pytest.mark.parametrize("death", [SystemExit, KeyboardInterrupt])
def test_the_end_of_the_loop_reaches_every_waiting_thread(worker: Worker, death: type[BaseException]) -> None:
    async def dying(mailbox: Mailbox[int, int]) -> int:
        async for _ in mailbox:
            raise death("by a connector")
        return 0

    other = worker.serve(collect)
    with pytest.raises(WriterFailedError, match=rf"has ended with {death.__name__}: by a connector"):
        hand_over(worker.serve(dying), [1])
    with pytest.raises(WriterFailedError, match="event loop of this Python worker has ended"):
        other.finish()
    with pytest.raises(WriterFailedError, match="event loop of this Python worker has ended"):
        worker.serve(collect)


def test_a_loop_that_has_ended_is_replaced() -> None:
    first = Worker.current()
    assert Worker.current() is first
    with pytest.raises(WriterFailedError):
        first.serve(end_the_loop).finish()
    second = Worker.current()
    assert second is not first
    assert hand_over(second.serve(collect), [1]) == [1]


def test_a_forked_child_gets_a_loop_of_its_own() -> None:
    script = """
import os
from asyncsink.spark.worker import Worker
async def collect(mailbox):
    return [item async for item in mailbox]
parent = Worker.current()
child = os.fork()
if child == 0:
    own = Worker.current()
    mailbox = own.serve(collect)
    mailbox.put(7)
    os._exit(0 if own is not parent and mailbox.finish() == [7] and own.clients is not parent.clients else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), Worker.current() is parent)
"""
    # Python 3.12 warns of forks beside threads, which is what this is about.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("0 True", "")
