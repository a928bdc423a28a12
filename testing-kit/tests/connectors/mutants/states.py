"""Mutants that leave a successor too little, or bytes that it misreads."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from reference import Entry, ReferenceSink

from asyncsink import InitContext, SimpleVersionedSerializer
from asyncsink.state import BufferedRequestState
from mutants import mutant

State = BufferedRequestState[Entry]


@mutant(fails=["snapshot-restore", "cancel-in-flight", "reopen-after-failure", "poison-fails"])
class IgnoresRestoredStates(ReferenceSink):
    """Its writers start with nothing, whatever state they are given."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return super().create_writer(context)


@mutant(fails=["snapshot-restore"])
class RestoresOneStateOnly(ReferenceSink):
    """Its writers start with the first of the states that they are given."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return super().create_writer(context, states[:1])


class _StateSerializer(SimpleVersionedSerializer[State]):
    """A state as lines of JSON, the first of them the number of those that follow."""

    version = 1

    def serialize(self, value: State) -> bytes:
        entries = [
            [each.payload.decode(), each.key, size] for each, size in zip(value.entries, value.sizes, strict=True)
        ]
        return "\n".join(map(json.dumps, [len(entries), *entries, "end"])).encode()

    def deserialize(self, version: int, data: bytes) -> State:
        self._check_version(version)
        count, *lines = [json.loads(line) for line in data.split(b"\n")]
        if lines[-1:] != ["end"] or len(lines) - 1 != count:
            raise ValueError("the bytes of a state are damaged")
        return self.state(lines[:-1])

    def state(self, lines: Sequence[Any]) -> State:
        try:
            entries = tuple(Entry(payload.encode(), key) for payload, key, _ in lines)
            return BufferedRequestState(entries, tuple(size for *_, size in lines))
        except (AttributeError, TypeError) as error:
            raise ValueError("the bytes of a state are damaged") from error


class _DropsTheLast(_StateSerializer):
    def state(self, lines: Sequence[Any]) -> State:
        return super().state(lines[:-1])


@mutant(fails=["snapshot-restore", "serializer-round-trip"])
class LosesTheLastEntryOfAState(ReferenceSink):
    """Its serializer of states reads one entry too few."""

    @property
    def writer_state_serializer(self) -> SimpleVersionedSerializer[State]:
        return _DropsTheLast()


class _ReadsWhatItCan(_StateSerializer):
    def deserialize(self, version: int, data: bytes) -> State:
        self._check_version(version)
        lines = []
        for line in data.split(b"\n")[1:]:
            try:
                lines.append(json.loads(line))
            except ValueError:
                break  # the bug: a line that is cut short is taken for the end
        return self.state([each for each in lines if each != "end"])


@mutant(fails=["serializer-truncated"])
class ReadsTruncatedStates(ReferenceSink):
    """Its serializer of states takes what it can read, and says nothing of the rest."""

    @property
    def writer_state_serializer(self) -> SimpleVersionedSerializer[State]:
        return _ReadsWhatItCan()


class _Packed(SimpleVersionedSerializer[Entry]):
    """The length of the key, the key, the payload."""

    version = 1

    def serialize(self, value: Entry) -> bytes:
        key = value.key.encode()
        return struct.pack(">I", len(key)) + key + value.payload

    def deserialize(self, version: int, data: bytes) -> Entry:
        self._check_version(version)
        (length,) = struct.unpack_from(">I", data)
        return Entry(data[4 + length :], data[4 : 4 + length].decode())


@mutant(fails=["serializer-truncated"])
class LetsStructErrorsOut(ReferenceSink):
    """Its serializer of entries unpacks bytes without a look at how many there are."""

    entry_serializer: ClassVar[Any] = _Packed()


class _AnyVersion(_Packed):
    def deserialize(self, version: int, data: bytes) -> Entry:
        if len(data) < 4:
            raise ValueError("the bytes of an entry are damaged")
        return super().deserialize(self.version, data)


@mutant(fails=["serializer-unknown-version"])
class ReadsAnyVersion(ReferenceSink):
    """Its serializer of entries does not look at the version."""

    entry_serializer: ClassVar[Any] = _AnyVersion()


class _WithoutKey(SimpleVersionedSerializer[Entry]):
    version = 1

    def serialize(self, value: Entry) -> bytes:
        return value.payload

    def deserialize(self, version: int, data: bytes) -> Entry:
        self._check_version(version)
        return Entry(data, "")


@mutant(fails=["serializer-round-trip"])
class DropsAField(ReferenceSink):
    """Its serializer of entries was not told of the key, which came later."""

    entry_serializer: ClassVar[Any] = _WithoutKey()


class _AsciiKeys(_Packed):
    def serialize(self, value: Entry) -> bytes:
        return super().serialize(Entry(value.payload, value.key.encode("ascii", "replace").decode()))

    def deserialize(self, version: int, data: bytes) -> Entry:
        if len(data) < 4:
            raise ValueError("the bytes of an entry are damaged")
        return super().deserialize(version, data)


@mutant(fails=["serializer-round-trip"])
class SerializesAsciiKeys(ReferenceSink):
    """Its serializer of entries knows fewer characters than a key may have."""

    entry_serializer: ClassVar[Any] = _AsciiKeys()
