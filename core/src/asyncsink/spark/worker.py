"""One event loop in a thread of its own for each of Spark's Python worker processes."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from asyncsink.errors import WriterFailedError
from asyncsink.spark.clients import WorkerClients
from asyncsink.spark.mailbox import Mailbox
from asyncsink.spark.process import keep_freed_memory

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
Service = Callable[[Mailbox[Any, Any]], Awaitable[Any]]

logger = logging.getLogger(__name__)


class Worker:
    """The event loop on which all writers of this process run, and what outlives them: clients and limits.

    Spark uses a worker process for one task after another; :meth:`current` gives all of them the same loop. Its
    thread is a daemon: Spark kills workers without asking, so nothing may need to be closed.
    """

    clients: WorkerClients

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[Mailbox[Any, Any]] = set()
        self._started = threading.Event()
        self._ended = False
        self._death: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop
        self._services: Mailbox[tuple[Service, Mailbox[Any, Any]], None]
        keep_freed_memory()
        self._thread = threading.Thread(target=self._run, name="asyncsink", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._ended:
            raise self._ended_error()

    @classmethod
    def current(cls) -> Worker:
        """The worker of this process, made on first use and anew in a forked child or after its loop has ended."""
        global _current
        with _making:
            if _current is None or not _current.is_alive:
                _current = cls()
            return _current

    @property
    def is_alive(self) -> bool:
        """Whether the loop runs."""
        return not self._ended

    def serve(self, service: Callable[[Mailbox[ItemT, ResultT]], Awaitable[ResultT]]) -> Mailbox[ItemT, ResultT]:
        """Run `service` on the loop, in a task of its own, with the mailbox that is returned.

        :raises WriterFailedError: the loop has ended
        """
        with self._lock:
            if self._ended:
                raise self._ended_error()
            mailbox: Mailbox[ItemT, ResultT] = Mailbox(self._loop)
            self._open.add(mailbox)
        self._services.put((service, mailbox))
        return mailbox

    async def _serve(self, service: Service, mailbox: Mailbox[Any, Any]) -> None:
        with anyio.CancelScope() as scope:
            mailbox.attach(scope)
            try:
                mailbox.succeed(await service(mailbox))
            except Exception as error:
                mailbox.fail(error)
        # Not in a finally: what ends the loop, such as SystemExit, leaves the mailbox for `_run` to settle.
        mailbox.fail(WriterFailedError("the task was given up while its writer was running"))
        with self._lock:
            self._open.discard(mailbox)

    def _run(self) -> None:
        try:
            anyio.run(self._main, backend="asyncio")
        except BaseException as error:
            # Nobody sees what a thread raises; its tasks do, through their mailboxes.
            self._death = error
        with self._lock:
            self._ended = True
            orphans = list(self._open)
        ended = self._ended_error()
        for mailbox in orphans:
            mailbox.fail(ended)
        self._started.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._services = Mailbox(self._loop)
        self._open.add(self._services)
        async with anyio.create_task_group() as group:
            self.clients = WorkerClients(group)
            self._started.set()
            async for service, mailbox in self._services:
                group.start_soon(self._serve, service, mailbox)

    def _ended_error(self) -> WriterFailedError:
        reason = "" if self._death is None else f" with {type(self._death).__name__}: {self._death}"
        error = WriterFailedError(
            f"the event loop of this Python worker has ended{reason}; Spark runs the task again in a new worker"
        )
        error.__cause__ = self._death
        return error


_current: Worker | None = None
_making = threading.Lock()


def _forget() -> None:
    """In a forked child: another thread may have held the lock, and the parent's loop does not run here."""
    global _current, _making
    _current, _making = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
