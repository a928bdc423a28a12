"""Services of a user's own that return something else than the interface asks for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import anyio
import pytest

from asyncsink_dynamic_kafka import KafkaStream, MetadataError
from asyncsink_dynamic_kafka.metadata.discovery import discovering
from asyncsink_dynamic_kafka.metadata.subscribers import (
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    StreamPatternSubscriber,
)

from .services import FakeService

SECRET = "hunter2"
BY_ID, BY_PATTERN = KafkaStreamSetSubscriber(frozenset({"orders"})), StreamPatternSubscriber("orders")


class Returning(FakeService):
    """Returns `found` whatever it is asked."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found = found

    async def get_all_streams(self) -> Any:
        return self.found

    async def describe_streams(self, stream_ids: Collection[str]) -> Any:
        return self.found


@pytest.mark.parametrize(
    ("subscriber", "found", "told"),
    [
        (BY_ID, None, "describe_streams of the metadata service returned a NoneType; let it return a mapping"),
        (BY_ID, [KafkaStream("orders", {})], "describe_streams .* returned a list; let it return a mapping of ids"),
        (BY_ID, {"orders": {"password": SECRET}}, "returned a dict; let it return KafkaStreams"),
        (BY_ID, {"orders": KafkaStream("orders", None)}, "whose clusters are a mapping"),  # type: ignore[arg-type]
        (BY_PATTERN, None, "get_all_streams .* returned a NoneType; let it return a collection of KafkaStreams"),
        (BY_PATTERN, ["orders"], "get_all_streams .* returned a str; let it return KafkaStreams"),
        (BY_PATTERN, [KafkaStream(7, {})], "let it return KafkaStreams whose ids are strings"),  # type: ignore[arg-type]
        (
            BY_ID,
            {"orders": KafkaStream("orders", {"A": {"password": SECRET}})},  # type: ignore[dict-item]
            "cluster 'A' of stream 'orders' has no ClusterMetadata with a mapping",
        ),
    ],
)
def test_what_is_no_stream_is_told_by_the_method_that_returned_it(
    subscriber: KafkaStreamSubscriber, found: Any, told: str
) -> None:
    async def starts() -> None:
        async with discovering(Returning(found), subscriber) as discovery:
            await discovery.ready()

    with pytest.raises(MetadataError, match=told) as caught:
        anyio.run(starts)
    assert SECRET not in str(caught.value)
