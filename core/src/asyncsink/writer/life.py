"""What a writer holds open: its client, and the tasks that send and keep the time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from asyncsink.context import InitContext
from asyncsink.writer.clock import loop_clock
from asyncsink.writer.engine import Engine
from asyncsink.writer.rejecting import Rejections
from asyncsink.writer.workers import Ended, Workers

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink


class Life:
    """The client and the tasks, entered and left by one task."""

    __slots__ = ("_context", "_sink", "_stack")

    def __init__(self, sink: AsyncSink[Any, Any, Any], context: InitContext) -> None:
        self._sink, self._context = sink, context
        self._stack = AsyncExitStack()

    async def enter(self, engine: Engine, rejections: Rejections, ended: Ended) -> None:
        """Connect, and let the engine send; `ended` hears of every answer."""
        client = await self._stack.enter_async_context(self._client())
        submit = self._sink.submit_request_entries
        try:
            await self._stack.enter_async_context(rejections.opened())
            group = await self._stack.enter_async_context(cancelled_at_the_end())
            engine.open(Workers(group, submit, client, ended), loop_clock())
            group.start_soon(_keep_time, engine)
            rejections.start(group)
        except BaseException as error:
            await self.leave(error)
            raise

    async def leave(self, error: BaseException | None) -> None:
        """End the tasks and give the client back, saying what went wrong while it was used."""
        await self._stack.__aexit__(type(error) if error else None, error, None)

    def _client(self) -> AbstractAsyncContextManager[Any]:
        def connect() -> AbstractAsyncContextManager[Any]:
            return self._sink.connect(self._context)

        clients = self._context.clients
        return connect() if clients is None else clients.lease(self._sink.client_key, connect)


async def _keep_time(engine: Engine) -> None:
    """Run the alarm; where it is cancelled nothing is sent any more, so whoever waits must hear of it."""
    try:
        await engine.time.alarm.run()
    finally:
        engine.close()


@asynccontextmanager
async def cancelled_at_the_end() -> AsyncIterator[TaskGroup]:
    """A task group whose tasks end with the block, and which leaves the block's own exception as it is."""
    group = anyio.create_task_group()
    await group.__aenter__()
    try:
        yield group
    finally:
        group.cancel_scope.cancel()
        await group.__aexit__(None, None, None)
