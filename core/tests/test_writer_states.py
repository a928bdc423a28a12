"""Writers' states as bytes."""

from __future__ import annotations

from typing import Any, Never

import pytest

from asyncsink import BufferedRequestState, BytesSerializer, InitContext, Sink
from asyncsink.errors import LedgerError
from asyncsink.writer_states import kept_states, restored_states


class Plain(Sink[bytes, Never, bytes, Never]):
    def create_writer(self, context: InitContext, states: Any = ()) -> Any:
        raise AssertionError("no writer is needed")


class Keeping(Plain):
    writer_state_serializer = BytesSerializer()


def test_states_are_kept_with_their_version_and_empty_ones_are_not() -> None:
    assert kept_states(Keeping(), [b"a", BufferedRequestState()]) == ((1, b"a"),)
    assert kept_states(Plain(), [b"a"]) == ()


def test_states_are_restored_in_order() -> None:
    assert restored_states(Keeping(), [(1, b"a"), (1, b"b")], "x") == [b"a", b"b"]
    assert restored_states(Plain(), [], "x") == []


@pytest.mark.parametrize(
    ("sink", "why"),
    [(Plain(), "Plain cannot read: it has no writer_state_s"), (Keeping(), "Keeping cannot read: its BytesSerializer")],
    ids=["no serializer", "another version"],
)
def test_a_state_that_the_sink_cannot_read_is_an_error_with_partition_version_and_remedy(sink: Plain, why: str) -> None:
    with pytest.raises(LedgerError, match=rf"version 9 for the writer of partition 3, which {why}.*; use") as raised:
        restored_states(sink, [(9, b"payload")], "the writer of partition 3")
    assert "payload" not in str(raised.value)
