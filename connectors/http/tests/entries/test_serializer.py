from __future__ import annotations

import pytest

from asyncsink import BufferedRequestState
from asyncsink_http import HttpSink
from asyncsink_http.entries.entry import HttpEntry, Row
from asyncsink_http.entries.serializer import HttpEntrySerializer


@pytest.mark.parametrize("entry", [b"", b'{"a":1}', Row(b'{"a":1}', key="q/1/2/3é"), Row(b"", key="")])
def test_an_entry_comes_back_as_it_was(entry: HttpEntry) -> None:
    serializer = HttpEntrySerializer()
    twin = serializer.deserialize(1, serializer.serialize(entry))
    assert twin == entry
    assert type(twin) is type(entry)


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\0\0\0\5abc", b"\xff\xff\xff\xfe"])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="of an HTTP entry are damaged"):
        HttpEntrySerializer().deserialize(1, data)


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 2"):
        HttpEntrySerializer().deserialize(2, b"")


def test_the_sink_serialises_its_writers_state() -> None:
    serializer = HttpSink(url="http://localhost").writer_state_serializer
    assert serializer is not None
    state: BufferedRequestState[HttpEntry] = BufferedRequestState((b"1", Row(b"2", key="k")), (3, 3))
    assert serializer.deserialize(serializer.version, serializer.serialize(state)) == state
