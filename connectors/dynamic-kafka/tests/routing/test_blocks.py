"""Blocks of records of streams, and routers that know none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from asyncsink import ConfigurationError
from asyncsink_dynamic_kafka import ClusterTopic, KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import NO_STREAM, RoutedRows, StreamBlock, route_rows
from asyncsink_dynamic_kafka.routing.making import make_router
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter, StreamMetadataMap

from .streams import target

ALL = KafkaStreamRecord("orders", b"v", b"k", (("h", b"1"), ("h", None)), 12, 3)


class ByFirstByte(ReconcilableStreamRouter):
    """A router of a user's own: even first bytes to the first cluster topic, odd ones to the last; z to both."""

    def __init__(self) -> None:
        self._streams: StreamMetadataMap = {}

    def reconcile(self, stream_metadata_map: StreamMetadataMap) -> None:
        self._streams = stream_metadata_map

    def route(self, record: KafkaStreamRecord) -> ClusterTopic:
        assert record.value is not None
        return sorted(self._streams[record.stream_id])[-(record.value[0] % 2)]

    def route_all(self, record: KafkaStreamRecord) -> Sequence[ClusterTopic]:
        return sorted(self._streams[record.stream_id]) if record.value == b"z" else (self.route(record),)


class Wrong(ByFirstByte):
    def __init__(self, answer: Any = "A") -> None:
        self.answer = answer

    def route(self, record: KafkaStreamRecord) -> ClusterTopic:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


class Needy(ByFirstByte):
    def __init__(self, needed: int) -> None: ...


def block(*values: bytes) -> StreamBlock:
    return StreamBlock.of([KafkaStreamRecord("orders", value) for value in values], 100)


def test_records_come_back_as_they_were() -> None:
    some = [ALL, KafkaStreamRecord("clicks"), KafkaStreamRecord("orders", b"w")]
    made = StreamBlock.of(some, 7)
    assert [made.record(row) for row in range(3)] == some
    assert made.streams == ("orders", "clicks")
    assert made.records.topic is None
    assert made.records.sequence.tolist() == [7, 8, 9]
    assert [made.slice(1, 3).record(row) for row in range(2)] == some[1:]
    assert [made.take(np.array([2, 0])).record(row) for row in range(2)] == [some[2], some[0]]


def test_rows_are_grouped_by_stream_and_rejected_ones_left_out() -> None:
    made = StreamBlock.of([ALL, KafkaStreamRecord("clicks"), ALL, ALL])
    made.stream_of[2] = NO_STREAM
    assert [(name, rows.tolist()) for name, rows in made.rows_by_stream()] == [("orders", [0, 3]), ("clicks", [1])]
    made.stream_of[:] = NO_STREAM
    assert made.rows_by_stream() == []
    assert StreamBlock.of([]).rows_by_stream() == []


@pytest.mark.parametrize("name", ["round-robin", "sticky", "weighted", "mirror", f"{__name__}:ByFirstByte"])
def test_no_router_is_shown_a_rejected_row(name: str) -> None:
    router = make_router(name, {"A": 1})
    router.reconcile({"orders": frozenset({target("A")})})
    made = StreamBlock.of([ALL, ALL, ALL])
    made.stream_of[1] = NO_STREAM
    ((found, rows),) = route_rows(router, made)
    assert (found, rows.tolist()) == (target("A"), [0, 2])


def test_a_router_that_knows_no_blocks_is_asked_for_each_record() -> None:
    router = ByFirstByte()
    router.reconcile({"orders": frozenset({target("A"), target("B")})})
    found = {each: rows.tolist() for each, rows in route_rows(router, block(b"b", b"a", b"z", b"d"))}
    assert found == {target("A"): [0, 2, 3], target("B"): [1, 2]}


def test_what_is_wrong_with_a_router_of_ones_own_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r":Wrong' returned a str for stream 'orders'; return one of"):
        route_rows(Wrong(), block(b"a"))
    with pytest.raises(ConfigurationError, match=r":Wrong' failed for stream 'orders': ZeroDivisionError: by what"):
        route_rows(Wrong(ZeroDivisionError("by what")), block(b"a"))
    with pytest.raises(LookupError, match="nowhere"):
        route_rows(Wrong(LookupError("nowhere")), block(b"a"))


class Forgetful(ByFirstByte):
    """Chooses nothing for the record b."""

    def route_all(self, record: KafkaStreamRecord) -> Sequence[ClusterTopic]:
        return () if record.value == b"b" else (self.route(record),)


class ForgetfulOfBlocks(ByFirstByte):
    """Chooses twice for one record of a block, and nothing for another."""

    def route_block(self, block: StreamBlock) -> RoutedRows:
        return [(target("A"), np.maximum(np.arange(len(block), dtype=np.int64), 1))]


@pytest.mark.parametrize("router", [Forgetful(), ForgetfulOfBlocks()])
def test_a_router_of_ones_own_that_chooses_nothing_for_a_record_is_told_so(router: ReconcilableStreamRouter) -> None:
    router.reconcile({"orders": frozenset({target("A"), target("B")})})
    told = r"Forgetful.* chose no cluster topic for a record of stream 'orders'"
    with pytest.raises(ConfigurationError, match=told):
        route_rows(router, StreamBlock.of([KafkaStreamRecord("orders", each) for each in (b"a", b"b", b"c")]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "robin",
            r"'router' = 'robin' must be 'round-robin', 'sticky', 'weighted', 'mirror' or 'package.module:Class'",
        ),
        ("wieghted", "did you mean 'weighted'"),
        (f"{__name__}:block", "names no router; derive a class from asyncsink_dynamic_kafka.ReconcilableStreamRouter"),
        (f"{__name__}:Needy", "cannot be made: TypeError.*must need no arguments"),
        (f"{__name__}:Missing", "option 'router' = .*has no 'Missing'"),
    ],
)
def test_a_router_that_cannot_be_made_is_told(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        make_router(text, {})
