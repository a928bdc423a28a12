"""Calls in threads: what arrives there, what comes back, and how many threads there may be."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from itertools import count
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from asyncsink import ConfigurationError
from asyncsink.blocking import blocking

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
PATIENCE_S = 10.0
"""For what must happen: a test that waits so long has failed."""
_names = count()


class Caller:
    """As much of a sink as `blocking` asks for, and the gates that its calls wait at."""

    def __init__(self, most: int = 2, fingerprint: str | None = None) -> None:
        self.config = SimpleNamespace(max_in_flight_requests=most)
        self.fingerprint = fingerprint or f"caller {next(_names)}"
        self.gates: dict[str, threading.Event] = {}
        self.entered: list[str] = []
        self.inside = self.most_inside = 0
        self.lock = threading.Lock()

    def pass_gate(self, name: str) -> str:
        """Block until the gate of that name is opened, if there is one."""
        with self.lock:
            self.entered.append(name)
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        try:
            if name in self.gates:
                assert self.gates[name].wait(PATIENCE_S)
            return f"{name} passed"
        finally:
            with self.lock:
                self.inside -= 1

    def close_gates(self, *names: str) -> None:
        self.gates.update({name: threading.Event() for name in names})

    def open_gates(self) -> None:
        for gate in self.gates.values():
            gate.set()

    call = blocking(pass_gate)
    call_in_one_thread = blocking(max_threads=1)(pass_gate)

    async def hang(self, name: str) -> None:
        """Make a call that is cut while it is at its gate."""
        self.close_gates(name)
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name)
            await until(lambda: name in self.entered)
            group.cancel_scope.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what a thread does: it sets no event of the loop's."""
    for _ in range(int(PATIENCE_S / 0.002)):
        if holds():
            return
        await anyio.sleep(0.002)
    raise AssertionError(f"it has not happened in {PATIENCE_S} s")


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("asyncsink Caller")]


@pytest.fixture(autouse=True)
def no_threads_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(blocking.__globals__, "IDLE_S", 0.05)
    for thread in threads():
        thread.join(PATIENCE_S)
    assert threads() == []


def run(backend: str, main: Callable[[Caller], Awaitable[None]], caller: Caller | None = None) -> None:
    """Run it on that event loop, and let every thread go afterwards."""
    caller = caller or Caller()
    try:
        anyio.run(main, caller, backend=backend)
    finally:
        caller.open_gates()


@BACKENDS
def test_the_method_runs_in_another_thread_and_its_answer_comes_back(backend: str) -> None:
    class Sink(Caller):
        @blocking
        def where(self, number: int, *, text: str) -> tuple[int, str, int]:
            return number, text, threading.get_ident()

    async def main() -> None:
        number, text, thread = await Sink().where(7, text="x")
        assert (number, text) == (7, "x")
        assert thread != threading.get_ident()

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("kind", [OSError, TimeoutError, KeyError, SystemExit])
@BACKENDS
def test_what_the_method_raises_arrives_as_it_was(backend: str, kind: type[BaseException]) -> None:
    error = kind("said by the client")

    class Sink(Caller):
        @blocking
        def fail(self) -> None:
            raise error

    async def main() -> None:
        with pytest.raises(kind) as caught:
            await Sink().fail()
        assert caught.value is error

    anyio.run(main, backend=backend)


@BACKENDS
def test_context_variables_of_the_caller_are_seen_and_changes_stay_in_the_thread(backend: str) -> None:
    trace = ContextVar("trace", default="none")

    class Sink(Caller):
        @blocking
        def traced(self) -> str:
            seen = trace.get()
            trace.set("changed")
            return seen

    async def main() -> None:
        trace.set("request 7")
        assert await Sink().traced() == "request 7"
        assert trace.get() == "request 7"

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("inner", ["asyncio", "trio"])
@BACKENDS
def test_a_client_may_run_an_event_loop_of_its_own(backend: str, inner: str) -> None:
    class Sink(Caller):
        @blocking
        def looped(self) -> float:
            return anyio.run(anyio.sleep, 0, backend=inner) or anyio.run(_time, backend=inner)

    async def _time() -> float:
        return anyio.current_time()

    async def main() -> None:
        assert isinstance(await Sink().looped(), float)

    anyio.run(main, backend=backend)


def test_an_asynchronous_method_is_refused() -> None:
    async def put(sink: Any) -> None: ...

    with pytest.raises(ConfigurationError, match=r"put is asynchronous already; use it as it is"):
        blocking(put)


@pytest.mark.parametrize("most", [0, -1, True, 1.5, "4"])
def test_a_number_of_threads_that_is_none_is_refused(most: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"max_threads = .* must be a whole number of at least 1 thread"):
        blocking(max_threads=most)


@BACKENDS
def test_a_call_that_is_cut_is_not_waited_for(backend: str) -> None:
    async def main(caller: Caller) -> None:
        await caller.hang("a")
        assert caller.inside == 1, "the thread goes on"

    run(backend, main)


@BACKENDS
def test_threads_that_hang_count_until_they_end(backend: str) -> None:
    async def main(caller: Caller) -> None:
        await caller.hang("a")
        await caller.hang("b")
        for _ in range(5):
            with anyio.move_on_after(0.01) as scope:
                await caller.call("never")
            assert scope.cancelled_caught, "both threads hang, so it has to wait until its time is up"
        assert len(threads()) == 2
        async with anyio.create_task_group() as group:
            group.start_soon(caller.call, "c")
            await anyio.sleep(0.01)
            assert "c" not in caller.entered
            caller.gates["a"].set()
        assert caller.entered == ["a", "b", "c"]
        assert caller.most_inside == 2

    run(backend, main)


@BACKENDS
def test_a_call_that_is_cut_while_it_waits_for_a_thread_is_never_made(backend: str) -> None:
    async def main(caller: Caller) -> None:
        await caller.hang("a")
        with anyio.move_on_after(0.01):
            await caller.call("cut")
        caller.open_gates()
        assert await caller.call("next") == "next passed"
        assert caller.entered == ["a", "next"]

    run(backend, main, Caller(most=1))


@BACKENDS
def test_waiting_calls_get_threads_in_the_order_in_which_they_came(backend: str) -> None:
    async def main(caller: Caller) -> None:
        await caller.hang("a")
        async with anyio.create_task_group() as group:
            for name in "bcde":
                group.start_soon(caller.call_in_one_thread, name)
                await anyio.sleep(0.005)
            caller.open_gates()
        assert caller.entered == [*"abcde"]
        assert caller.most_inside == 1

    run(backend, main, Caller(most=1))


@BACKENDS
def test_a_writer_that_was_given_more_requests_gets_more_threads(backend: str) -> None:
    async def main(caller: Caller) -> None:
        caller.close_gates(*"abcde")
        async with anyio.create_task_group() as group:
            for name in "abcde":
                group.start_soon(caller.call, name)
            await until(lambda: caller.inside == 5)
            caller.open_gates()

    run(backend, main, Caller(most=2))


@BACKENDS
def test_calls_that_are_cut_all_at_once_make_no_room_for_more_threads(backend: str) -> None:
    async def main(caller: Caller) -> None:
        for turn in range(5):
            names = [f"{turn}.{number}" for number in range(3)]
            caller.close_gates(*names)
            async with anyio.create_task_group() as group:
                with anyio.CancelScope() as scope:
                    async with anyio.create_task_group() as first:
                        for name in names:
                            first.start_soon(caller.call, name)
                        if not turn:
                            await until(lambda: caller.inside == 3)
                        # The others come in the very moment in which the first are cut.
                        scope.cancel()
                        for name in names:
                            group.start_soon(caller.call, name)
                await anyio.sleep(0.01)
                group.cancel_scope.cancel()
        assert caller.most_inside == 3
        assert len(threads()) == 3

    run(backend, main, Caller(most=3))


@BACKENDS
def test_a_number_of_threads_that_is_given_is_never_exceeded(backend: str) -> None:
    async def main(caller: Caller) -> None:
        async with anyio.create_task_group() as group:
            for name in "abcde":
                group.start_soon(caller.call_in_one_thread, name)
        assert sorted(caller.entered) == [*"abcde"]
        assert caller.most_inside == 1

    run(backend, main, Caller(most=50))


@BACKENDS
def test_sinks_of_the_same_destination_share_their_threads_and_others_do_not(backend: str) -> None:
    first, same, other = Caller(1, "orders"), Caller(1, "orders"), Caller(1, "bills")

    async def main(_: Caller) -> None:
        await first.hang("a")
        with anyio.move_on_after(0.01):
            await same.call("b")
        assert same.entered == []
        assert await other.call("c") == "c passed"

    run(backend, main, first)


@pytest.mark.parametrize("late", ["answer", "error"])
@BACKENDS
def test_what_comes_after_the_call_was_cut_is_ignored_and_the_thread_used_again(backend: str, late: str) -> None:
    class Sink(Caller):
        @blocking
        def slow(self) -> int:
            self.pass_gate("slow")
            if late == "error":
                raise OSError("too late")
            return threading.get_ident()

    async def main(sink: Any) -> None:
        sink.close_gates("slow")
        async with anyio.create_task_group() as group:
            group.start_soon(sink.slow)
            await until(lambda: sink.inside == 1)
            group.cancel_scope.cancel()
        sink.open_gates()
        assert await sink.call("next") == "next passed"
        assert sink.most_inside == 1

    run(backend, main, Sink(most=1))


@BACKENDS
def test_that_all_threads_hang_is_warned_of_once(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main(caller: Caller) -> None:
        await caller.hang("a")
        for _ in range(3):
            with anyio.move_on_after(0.005):
                await caller.call("waits")

    with caplog.at_level(logging.WARNING, "asyncsink.blocking"):
        run(backend, main, Caller(most=1))
    (message,) = caplog.messages
    assert "Caller.pass_gate: 1 of 1 threads are at requests that have timed out" in message
    assert "give the client a timeout below request_timeout_s" in message


@BACKENDS
def test_threads_without_work_end(backend: str) -> None:
    async def main(caller: Caller) -> None:
        for name in "abc":
            await caller.call(name)
            await until(lambda: not threads())
        assert caller.entered == [*"abc"]

    run(backend, main)


@BACKENDS
def test_threads_end_with_their_event_loop(backend: str) -> None:
    async def main(caller: Caller) -> None:
        await caller.call("idle at the end")
        await caller.hang("busy at the end")

    run(backend, main)  # a thread that raises fails the test
    for thread in threads():
        thread.join(PATIENCE_S)
    assert threads() == []


@BACKENDS
def test_a_thread_that_hangs_keeps_no_process_from_ending(backend: str) -> None:
    program = f"""
import anyio, time
from types import SimpleNamespace
from asyncsink.blocking import blocking

class Sink:
    config, fingerprint = SimpleNamespace(max_in_flight_requests=2), "sink"

    @blocking
    def hang(self):
        time.sleep(600)

async def main():
    for _ in range(2):
        with anyio.move_on_after(0.05):
            await Sink().hang()
    print("left")

anyio.run(main, backend={backend!r})
print("ended")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout.split(), done.stderr) == (["left", "ended"], "")
