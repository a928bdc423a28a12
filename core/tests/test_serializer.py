from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.serializer import BufferedRequestStateSerializer, BytesSerializer, DataclassSerializer
from asyncsink.state import BufferedRequestState
from asyncsink_testing.destination import FakeDestination
from asyncsink_testing.fake_sink import FakeSink


@dataclass(frozen=True, kw_only=True)
class Row:
    key: str
    data: bytes
    count: int = 0
    share: float = 0.0
    good: bool = False
    note: str | None = None


ROWS = st.builds(
    Row,
    key=st.text(st.characters()),
    data=st.binary(),
    count=st.integers(),
    share=st.floats(allow_nan=False),
    good=st.booleans(),
    note=st.none() | st.text(),
)
STATES = st.lists(st.tuples(st.binary(), st.integers(0, 2**64 - 1))).map(
    lambda pairs: BufferedRequestState(tuple(entry for entry, _ in pairs), tuple(size for _, size in pairs))
)
BYTES = BufferedRequestStateSerializer(BytesSerializer())


@given(ROWS)
def test_a_dataclass_comes_back_as_it_was(row: Row) -> None:
    serializer = DataclassSerializer(Row)
    found = serializer.deserialize(1, serializer.serialize(row))
    assert found == row
    assert type(found.good) is bool


@given(ROWS, st.data())
def test_a_truncated_dataclass_is_refused(row: Row, data: st.DataObject) -> None:
    serializer = DataclassSerializer(Row)
    whole = serializer.serialize(row)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(ValueError, match=r"damaged: found|the bytes are no Row with the fields key, data, count"):
        serializer.deserialize(1, cut)


def test_another_class_is_refused_by_its_fields() -> None:
    @dataclass
    class Other:
        key: str
        data: bytes

    with pytest.raises(ValueError, match="the bytes are no Row with the fields key, data, count, share, good, note"):
        DataclassSerializer(Row).deserialize(1, DataclassSerializer(Other).serialize(Other("k", b"d")))


def test_a_damaged_kind_of_value_is_refused() -> None:
    serializer = DataclassSerializer(Row)
    whole = serializer.serialize(Row(key="k", data=b"d"))
    with pytest.raises(ValueError, match="the bytes of a Row are damaged: found a value of kind b'X' with 1 bytes"):
        serializer.deserialize(1, whole.replace(b"S\0\0\0\1k", b"X\0\0\0\1k"))


def test_a_value_of_another_type_is_refused_by_field_and_not_by_value() -> None:
    values: dict[str, Any] = {"key": ["secret"], "data": b""}
    with pytest.raises(TypeError, match="field 'key' holds a list; it must be a str, bytes, int, float, bool or None"):
        DataclassSerializer(Row).serialize(Row(**values))


def test_only_dataclasses_of_plain_fields_are_taken() -> None:
    @dataclass
    class Nested:
        rows: list[int]

    @dataclass
    class Computed:
        size: int = field(init=False, default=3)

    with pytest.raises(TypeError, match=r"Nested.rows is of type list\[int\]; DataclassSerializer knows str"):
        DataclassSerializer(Nested)
    with pytest.raises(TypeError, match="Computed is no dataclass whose fields are all arguments of its constructor"):
        DataclassSerializer(Computed)
    with pytest.raises(TypeError, match="int is no dataclass whose fields"):
        DataclassSerializer(int)


@given(STATES)
def test_a_state_comes_back_as_it_was(state: BufferedRequestState[bytes]) -> None:
    assert BYTES.deserialize(1, BYTES.serialize(state)) == state


def test_an_empty_state_is_8_bytes() -> None:
    assert BYTES.serialize(BufferedRequestState()) == bytes([0, 0, 0, 1, 0, 0, 0, 0])


def test_a_state_of_dataclasses_comes_back_with_its_sizes() -> None:
    serializer = BufferedRequestStateSerializer(DataclassSerializer(Row))
    state = BufferedRequestState((Row(key="a", data=b"1"), Row(key="b", data=b"2", note="n")), (11, 12))
    assert serializer.deserialize(1, serializer.serialize(state)) == state


@given(STATES, st.data())
def test_a_truncated_state_is_refused(state: BufferedRequestState[bytes], data: st.DataObject) -> None:
    whole = BYTES.serialize(state)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(ValueError, match=r"the bytes of a BufferedRequestState are damaged: found \d+ of "):
        BYTES.deserialize(1, cut)


def test_bytes_behind_a_state_are_refused() -> None:
    with pytest.raises(ValueError, match="damaged: found 9 of 8 bytes"):
        BYTES.deserialize(1, BYTES.serialize(BufferedRequestState()) + b"x")


@pytest.mark.parametrize("serializer", [BYTES, BytesSerializer(), DataclassSerializer(Row)])
def test_an_unknown_version_is_refused_by_both_numbers(serializer: Any) -> None:
    with pytest.raises(ValueError, match="reads version 1, but the bytes are of version 2; use the release"):
        serializer.deserialize(2, b"")


def test_an_unknown_version_of_the_entries_is_refused() -> None:
    class NewBytes(BytesSerializer):
        version = 7

    newer = BufferedRequestStateSerializer(NewBytes()).serialize(BufferedRequestState((b"x",), (1,)))
    with pytest.raises(ValueError, match="BytesSerializer reads version 1, but the bytes are of version 7"):
        BYTES.deserialize(1, newer)


class KeepingSink(FakeSink):
    entry_serializer = BytesSerializer()


def test_a_sink_has_a_state_serializer_once_it_has_one_for_entries() -> None:
    assert FakeSink(FakeDestination()).writer_state_serializer is None
    serializer = KeepingSink(FakeDestination()).writer_state_serializer
    assert serializer is not None
    state = BufferedRequestState((b"x",), (3,))
    assert serializer.deserialize(serializer.version, serializer.serialize(state)) == state
