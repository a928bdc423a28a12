"""What a writer holds open: its client, and the tasks that send and keep the time."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext
from asyncsink.errors import ConfigurationError
from asyncsink.processing_time import ProcessingTimers
from asyncsink.task_groups import cancelled_at_the_end
from asyncsink.writer.clock import loop_clock
from asyncsink.writer.engine import Engine
from asyncsink.writer.rejecting import Rejections
from asyncsink.writer.workers import Ended, Workers

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink


class Life:
    """The client and the tasks, entered and left by one task. Whoever has called a method leaves, if it raised too."""

    __slots__ = ("_client", "_context", "_sink", "_stack")

    def __init__(self, sink: AsyncSink[Any, Any, Any], context: InitContext) -> None:
        self._sink, self._context = sink, context
        self._stack = AsyncExitStack()
        self._client: Any = None

    async def connect(self, engine: Engine) -> None:
        """Get the client, and let the sink learn from it: routes and limits hold for all that comes in after this.

        :raises WriterClosedError: the writer was closed meanwhile
        :raises ConfigurationError: an entry may be larger than a request
        """
        self._client = await self._stack.enter_async_context(self._leased())
        engine.check_not_closed()
        self._sink.connected(self._client)
        engine.max_record_size_in_bytes = _entry_limit(self._sink, engine.config)

    async def start(self, engine: Engine, rejections: Rejections, ended: Ended) -> None:
        """Let the engine send by the client; `ended` hears of every answer."""
        await self._stack.enter_async_context(rejections.opened())
        group = await self._stack.enter_async_context(cancelled_at_the_end())
        workers = Workers(group, self._sink.submit_request_entries, self._client, ended)
        engine.open(workers, loop_clock())
        group.start_soon(_keep_time, engine)
        timers = self._context.processing_time_service
        if isinstance(timers, ProcessingTimers) and timers.claim():
            group.start_soon(_call_back, timers, engine)
        rejections.start(group)

    async def leave(self, error: BaseException | None) -> None:
        """End the tasks and give the client back, saying what went wrong while it was used."""
        await self._stack.__aexit__(type(error) if error else None, error, None)

    def _leased(self) -> AbstractAsyncContextManager[Any]:
        def connect() -> AbstractAsyncContextManager[Any]:
            return self._sink.connect(self._context)

        clients = self._context.clients
        return connect() if clients is None else clients.lease(self._sink.client_key, connect)


def _entry_limit(sink: AsyncSink[Any, Any, Any], config: AsyncSinkWriterConfig) -> int:
    limit, most = sink.max_record_size_in_bytes(config), config.max_batch_size_in_bytes
    if not 1 <= limit <= most:
        raise ConfigurationError(
            f"{type(sink).__name__} allows max_record_size_in_bytes = {limit}, which must be at least 1 and not exceed "
            f"max_batch_size_in_bytes = {most}, or no request could hold such an entry; raise the latter as far as "
            "the service allows, or lower the former"
        )
    return limit


async def _keep_time(engine: Engine) -> None:
    """Run the alarm; where it is cancelled nothing is sent any more, so whoever waits must hear of it."""
    try:
        await engine.time.alarm.run()
    finally:
        engine.close()


async def _call_back(timers: ProcessingTimers, engine: Engine) -> None:
    try:
        await timers.run()
    except Exception as error:
        engine.fail_while("a timer called back", error)
