"""What goes from writers to committers and to later writers, as bytes that outlive the program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from asyncsink.serializer import DataclassSerializer


@dataclass(frozen=True)
class PendingFile:
    """A finished file that nobody sees yet: a committable.

    :param name: within the destination
    :param final: its name there once it is committed
    :param receipt: what the storage needs to show it
    """

    name: str
    final: str
    rows: int
    size_in_bytes: int
    receipt: str = ""


@dataclass(frozen=True)
class OpenFile:
    """A file that a later writer goes on with: a writer's state.

    :param length: bytes from its beginning that count; what follows them was written after the commit
    :param rows: in these bytes
    :param extension: of its final name: what format and compression it has
    """

    name: str
    length: int
    rows: int
    extension: str


@dataclass(frozen=True)
class CommittedFiles:
    """The files of one commit: a global committable.

    :param files: the :class:`PendingFile` of all writers, without receipts, as JSON
    """

    sink_id: str
    generation: int
    files: str

    @classmethod
    def of(cls, sink_id: str, generation: int, files: Iterable[PendingFile]) -> CommittedFiles:
        return cls(sink_id, generation, json.dumps([asdict(replace(each, receipt="")) for each in files]))

    def all(self) -> list[PendingFile]:
        return [PendingFile(**each) for each in json.loads(self.files)]


COMMITTABLES = DataclassSerializer(PendingFile)
STATES = DataclassSerializer(OpenFile)
GLOBAL_COMMITTABLES = DataclassSerializer(CommittedFiles)
