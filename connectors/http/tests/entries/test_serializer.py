"""Entries as bytes: what is written comes back, what an earlier release wrote does too, and damage is told."""

from __future__ import annotations

import struct

import pytest

from asyncsink import BufferedRequestState
from asyncsink_http import HttpSink
from asyncsink_http.entries.entry import HttpEntry, Row
from asyncsink_http.entries.serializer import HttpEntrySerializer
from asyncsink_http.entries.target import Target

TARGET = Target("PUT", "https://host/a/%C3%A9?q=1", (("X-Tenant", "blå"), ("X-B", "")))


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b'{"a":1}',
        Row(b'{"a":1}', key="q/1/2/3é"),
        Row(b"", key=""),
        Row(b'{"a":1}', TARGET),
        Row(b"", TARGET, "key"),
        Row(b"\xff", Target("DELETE", "http://host/")),
    ],
)
def test_an_entry_comes_back_as_it_was(entry: HttpEntry) -> None:
    serializer = HttpEntrySerializer()
    twin = serializer.deserialize(2, serializer.serialize(entry))
    assert twin == entry
    assert type(twin) is type(entry)
    if isinstance(entry, Row) and entry.target is not None:
        assert isinstance(twin, Row)
        assert hash(twin.target) == hash(entry.target)


@pytest.mark.parametrize(
    ("data", "entry"),
    [
        (struct.pack(">i", -1) + b'{"a":1}', b'{"a":1}'),
        (struct.pack(">i", 3) + b"key" + b'{"a":1}', Row(b'{"a":1}', key="key")),
        (struct.pack(">i", -1), b""),
    ],
)
def test_what_version_1_wrote_is_read(data: bytes, entry: HttpEntry) -> None:
    assert HttpEntrySerializer().deserialize(1, data) == entry


DAMAGED = [b"", b"\0\0", b"\0\0\0\5abc", b"\xff\xff\xff\xfe"]
NO_KEY = struct.pack(">i", -1)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        *((version, data) for version in (1, 2) for data in DAMAGED),
        *((2, NO_KEY + data) for data in DAMAGED),
        *((2, NO_KEY + struct.pack(">i", len(target)) + target) for target in (b"[1,", b"[1]", b"3", b"\xff")),
        (2, NO_KEY + b'\0\0\0\x14["PUT","http://h",[1]]'),
    ],
)
def test_damaged_bytes_are_refused(version: int, data: bytes) -> None:
    with pytest.raises(ValueError, match="of an HTTP entry are damaged"):
        HttpEntrySerializer().deserialize(version, data)


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 3"):
        HttpEntrySerializer().deserialize(3, b"")


def test_the_sink_serialises_its_writers_state() -> None:
    serializer = HttpSink(url="http://localhost").writer_state_serializer
    assert serializer is not None
    state: BufferedRequestState[HttpEntry] = BufferedRequestState((b"1", Row(b"2", TARGET, "k")), (3, 3))
    assert serializer.deserialize(serializer.version, serializer.serialize(state)) == state
