"""Task groups that serve a block of code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


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
