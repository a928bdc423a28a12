"""A sink whose writers keep a state: each counts the rows of all that came before it, by its partition's descent."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never, Self

from asyncsink.blocks import EntryBlock
from asyncsink.context import InitContext, WriteContext
from asyncsink.options import ConnectorOptions, option
from asyncsink.plugins import ConnectorInfo, hookimpl
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import Sink, SinkWriter


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo("counting", "asyncsink_counting:CountingSink", "asyncsink_counting:CountingOptions", 1)


@dataclass(frozen=True, kw_only=True)
class CountingOptions(ConnectorOptions):
    folder: str = option(doc="Where each process keeps a log of what its writers were given and have counted.")


class CountSerializer(SimpleVersionedSerializer[int]):
    version = 3

    def serialize(self, value: int) -> bytes:
        return str(value).encode()

    def deserialize(self, version: int, data: bytes) -> int:
        self._check_version(version)
        return int(data)


class CountingSink(Sink[Mapping[str, Any], Never, int, Never]):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        return cls(CountingOptions.from_options(options).folder)

    @property
    def writer_state_serializer(self) -> CountSerializer:
        return CountSerializer()

    def create_writer(self, context: InitContext, states: Sequence[int] = ()) -> CountingWriter:
        return CountingWriter(Path(self.folder, f"{os.getpid()}.log"), context, states)


class CountingWriter(SinkWriter[Mapping[str, Any], Never, int]):
    def __init__(self, log: Path, context: InitContext, states: Sequence[int]) -> None:
        self._log, self._context, self._states = log, context, list(states)
        self._count = sum(states)

    async def write(self, element: Mapping[str, Any], context: WriteContext | None = None) -> None:
        self._count += 1

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        self._count += len(block)

    async def flush(self, end_of_input: bool = False) -> None:
        line = {
            "batch": self._context.batch_id,
            "restored": self._context.restored_batch_id,
            "states": self._states,
            "count": self._count,
        }
        with self._log.open("a") as file:
            file.write(f"{json.dumps(line)}\n")

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[int]:
        return [self._count]

    async def aclose(self) -> None:
        """Nothing is held."""
