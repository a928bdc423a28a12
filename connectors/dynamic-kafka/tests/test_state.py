"""The state of a writer, and its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_dynamic_kafka import ClusterTopic, KafkaClusterIdentifier
from asyncsink_dynamic_kafka.state import WRITER_STATES, DynamicKafkaWriterState

clusters = st.builds(KafkaClusterIdentifier, st.text(max_size=5), st.text(max_size=5))
states = st.builds(
    DynamicKafkaWriterState,
    st.dictionaries(st.text(max_size=5), st.frozensets(st.builds(ClusterTopic, clusters, st.text(max_size=5)))),
    st.integers(0, 2**62),
    st.frozensets(st.text(max_size=5)),
)


@given(states)
def test_a_state_comes_back_from_its_bytes(state: DynamicKafkaWriterState) -> None:
    assert WRITER_STATES.deserialize(1, WRITER_STATES.serialize(state)) == state


def test_the_bytes_stay_what_they_are() -> None:
    """A later release must read what this one has written."""
    blue, green = KafkaClusterIdentifier("blue", "b:1,b:2"), KafkaClusterIdentifier("green", "g:1")
    state = DynamicKafkaWriterState(
        {"orders": frozenset({ClusterTopic(green, "o"), ClusterTopic(blue, "o")}), "clicks": frozenset()},
        1_700_000_000_000,
        frozenset({"green"}),
    )
    data = (
        b'{"clusters":[["blue","b:1,b:2"],["green","g:1"]],"streams":{"clicks":[],"orders":[[0,"o"],[1,"o"]]},'
        b'"known_at_ms":1700000000000,"with_own_properties":["green"]}'
    )
    assert WRITER_STATES.serialize(state) == data
    assert WRITER_STATES.deserialize(1, data) == state


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="reads version 1, but the bytes are of version 2"):
        WRITER_STATES.deserialize(2, b"{}")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff",
        b"[]",
        b'{"clusters":[["a"]],"streams":{},"known_at_ms":0,"with_own_properties":[]}',
        b'{"clusters":[["a",1]],"streams":{},"known_at_ms":0,"with_own_properties":[]}',
        b'{"clusters":[],"streams":{"s":[[0,"t"]]},"known_at_ms":0,"with_own_properties":[]}',
        b'{"clusters":[["a","b"]],"streams":{"s":[[-1,"t"]]},"known_at_ms":0,"with_own_properties":[]}',
        b'{"clusters":[],"streams":{},"known_at_ms":"0","with_own_properties":[]}',
        b'{"clusters":[],"streams":{},"known_at_ms":0,"with_own_properties":[1]}',
    ],
)
def test_damaged_bytes_are_told(data: bytes) -> None:
    with pytest.raises(ValueError, match="bytes of a DynamicKafkaWriterState are damaged"):
        WRITER_STATES.deserialize(1, data)
