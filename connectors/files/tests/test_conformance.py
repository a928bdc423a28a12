"""The conformance kit on a disk: every check of it that asks for no misbehaving service."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest

from asyncsink_testing import Capabilities, Fault, Received, SinkConformance, Step

from .reading import shown


@dataclass(frozen=True)
class Folder:
    """A folder as a destination: it makes no faults, and shows no requests."""

    endpoint: str
    supported: ClassVar[frozenset[Fault]] = frozenset()
    requests: ClassVar[None] = None
    peak_in_flight: ClassVar[None] = None
    open_connections: ClassVar[None] = None

    def script(self, steps: Iterable[Step | Fault], then: Step | Fault = Fault.OK) -> None:
        """Nothing ever comes but what is asked for where no fault is supported."""

    def poison(self, is_poison: Callable[[Any], bool]) -> None:
        """A file takes every row."""

    async def received(self) -> Sequence[Received]:
        return [Received(line, position=position) for position, line in enumerate(self.lines())]

    def lines(self) -> list[bytes]:
        folder = Path(self.endpoint)
        return [line for path in shown(folder) for line in path.read_bytes().splitlines()] if folder.is_dir() else []


def folders_within(parent: Path) -> Callable[[], AbstractAsyncContextManager[Folder]]:
    """What opens folders; where one was closed a file stands in its way, as if its disk were away."""
    numbers = count()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Folder]:
        folder = parent / str(next(numbers))
        yield Folder(str(folder))
        shutil.rmtree(folder, ignore_errors=True)
        folder.touch()

    return opened


class TestFiles(SinkConformance):
    connector = "files"
    capabilities = Capabilities(
        guarantee="exactly-once",
        ordering="none",
        partial_failure=False,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=False,
        retry_after=False,
        keeps_state=True,
        commits=True,
        max_batch_entries=None,
        max_batch_bytes=None,
        max_record_bytes=None,
        client_modules=("pyarrow",),
    )

    @pytest.fixture
    def destination(self, tmp_path: Path) -> object:
        return folders_within(tmp_path)

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"path": "{endpoint}"}
