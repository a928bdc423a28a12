"""The writer for programs without an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from asyncsink.context import WriteContext
from asyncsink.errors import WriterClosedError
from asyncsink.sink import SinkWriter
from asyncsink.state import BufferedRequestState
from asyncsink.writer.statistics import WriterStatistics

InputT = TypeVar("InputT")
EntryT = TypeVar("EntryT")
ResultT = TypeVar("ResultT")


class BlockingSinkWriter(Generic[InputT, EntryT]):
    """An :class:`~asyncsink.AsyncSinkWriter`, or one like it, that blocks, over an event loop in a thread of its own.

    A context manager: leaving it normally flushes, then closes; with an exception, such as KeyboardInterrupt, it cuts
    every request short. Either way no thread is left behind. Calls may come from several threads at once, and they
    raise what the asynchronous writer raises. A call that is interrupted is cancelled: what it has accepted by then
    stays accepted.

    Each call goes to the loop and back, which costs about 0.1 ms: :meth:`write` so for each element,
    :meth:`write_many` once for all of them. Do not use it in a thread that runs an event loop; ``sink.open()`` is
    for that.
    """

    def __init__(self, writer: SinkWriter[InputT, Any, Any]) -> None:
        self._writer = writer
        self._portal: BlockingPortal | None = None
        self._loop: BlockingPortal | None = None
        """The same, but as long as the loop runs: it still flushes when no new call may come."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start the loop and connect.

        :raises WriterClosedError: it has been entered before
        """
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.callback(self._is_left)
            stack.enter_context(portal.wrap_async_context_manager(self._writer))
            stack.callback(self._end)
            self._portal = self._loop = portal
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _end(self) -> None:
        self._portal = None

    def _is_left(self) -> None:
        self._loop = None

    def write(self, element: InputT, context: WriteContext | None = None) -> None:
        """Accept one element; blocks while the buffer is full."""
        self._call(self._writer.write, element, context)

    def write_many(self, elements: Sequence[InputT], context: WriteContext | None = None) -> None:
        """Accept elements in order; blocks while the buffer is full. The way to write fast."""
        self._call(self._writer.write_many, elements, context)

    def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``."""
        self._call(self._writer.write_batch, batch, context)

    def flush(self, end_of_input: bool = False) -> None:
        """Block until each request in flight has ended once; with True, until all that was accepted is acknowledged."""
        self._call(self._writer.flush, end_of_input)

    def close(self) -> None:
        """Cut every request short and close; sends nothing. The thread ends when the writer is left."""
        if self._portal is not None:
            self._call(self._writer.aclose)

    def statistics(self) -> WriterStatistics:
        """What the writer has done; after it was left, the last of it. All zero for a writer that does not count."""
        return self._ask(self._writer.statistics) or WriterStatistics()

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[BufferedRequestState[EntryT]]:
        """Exactly one state: every unacknowledged entry in order. Usable after a failure, and after leaving, too."""
        return self._ask(lambda: self._writer.snapshot_state(checkpoint_id))

    def _ask(self, question: Callable[[], ResultT]) -> ResultT:
        portal = self._loop
        if portal is None:
            return question()  # the writer has been left: nothing could change meanwhile

        async def answer() -> ResultT:
            return question()

        return self._on(portal, answer)

    def _call(self, function: Callable[..., Awaitable[ResultT]], *arguments: Any) -> ResultT:
        portal = self._portal
        if portal is None:
            raise WriterClosedError("the writer is not open; use `with` around its use, once")
        return self._on(portal, function, *arguments)

    def _on(self, portal: BlockingPortal, function: Callable[..., Awaitable[ResultT]], *arguments: Any) -> ResultT:
        future = portal.start_task_soon(function, *arguments)
        try:
            return future.result()
        except BaseException:
            # Interrupted in this thread, unless the call itself has raised: then it is done, and this does nothing.
            future.cancel()
            raise
