"""A lean request is the same bytes as aiokafka's own, in every version."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from aiokafka.protocol.produce import ProduceRequest

from asyncsink_kafka.client.lean_request import lean

TOPICS: list[Any] = [("orders", [(0, bytearray(b"batch")), (7, bytearray(3000))]), ("größe", [(1, bytearray(b""))])]


def on_the_wire(request: ProduceRequest, kind: Any) -> bytes:
    """What a connection of aiokafka writes."""
    built = request.build(kind)
    header = built.build_request_header(correlation_id=5, client_id="me")
    message = header.encode() + built.encode()
    size = struct.pack(">i", len(message))
    written = size + message
    assert type(written) in (bytes, memoryview), "asyncio writes nothing else"
    return bytes(written)


# Transactions came with version 3.
KINDS = [(kind, id_) for kind in ProduceRequest._CLASSES for id_ in (None, "tx") if not id_ or kind.API_VERSION >= 3]


@pytest.mark.parametrize(("kind", "transactional_id"), KINDS)
@pytest.mark.parametrize("topics", [TOPICS, []], ids=["batches", "none"])
def test_a_lean_request_is_the_same_bytes(kind: Any, topics: list[Any], transactional_id: str | None) -> None:
    request = ProduceRequest(transactional_id, -1, 30_000, topics)
    assert on_the_wire(lean(request), kind) == on_the_wire(request, kind)


def test_it_is_read_and_answered_like_any_other() -> None:
    request = ProduceRequest(None, 0, 30_000, TOPICS)
    made, own = (each.build(ProduceRequest._CLASSES[-1]) for each in (lean(request), request))
    assert lean(request).required_acks == 0
    assert (made.API_KEY, made.API_VERSION, made.RESPONSE_TYPE) == (own.API_KEY, own.API_VERSION, own.RESPONSE_TYPE)
    assert made.topics == own.topics
