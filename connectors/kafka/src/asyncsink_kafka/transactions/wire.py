"""Two requests of KIP-664 that aiokafka does not have: which transactions there are, and how one of them stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import CompactArray, CompactString, Int16, Int32, Int64, Schema, TaggedFields

_TEXT = CompactString("utf-8")


class DescribeTransactionsResponseV0(Response):  # type: ignore[misc]  # aiokafka is untyped for us
    API_KEY = 65
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "transaction_states",
            CompactArray(
                ("error_code", Int16),
                ("transactional_id", _TEXT),
                ("transaction_state", _TEXT),
                ("transaction_timeout_ms", Int32),
                ("transaction_start_time_ms", Int64),
                ("producer_id", Int64),
                ("producer_epoch", Int16),
                (
                    "topics",
                    CompactArray(("topic", _TEXT), ("partitions", CompactArray(Int32)), ("tags", TaggedFields)),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class DescribeTransactionsRequestV0(RequestStruct):  # type: ignore[misc]
    API_KEY = 65
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = DescribeTransactionsResponseV0
    SCHEMA = Schema(("transactional_ids", CompactArray(_TEXT)), ("tags", TaggedFields))


class DescribeTransactionsRequest(Request[DescribeTransactionsRequestV0]):  # type: ignore[misc]
    """How transactions stand; to be sent to their coordinator."""

    API_KEY = 65
    CLASSES: ClassVar = [DescribeTransactionsRequestV0]

    def __init__(self, transactional_ids: Sequence[str]) -> None:
        self._ids = list(transactional_ids)

    def build(self, request_struct_class: Any) -> Any:
        return request_struct_class(self._ids, {})


class ListTransactionsResponseV0(Response):  # type: ignore[misc]
    API_KEY = 66
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("unknown_state_filters", CompactArray(_TEXT)),
        (
            "transaction_states",
            CompactArray(
                ("transactional_id", _TEXT),
                ("producer_id", Int64),
                ("transaction_state", _TEXT),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class ListTransactionsRequestV0(RequestStruct):  # type: ignore[misc]
    API_KEY = 66
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = ListTransactionsResponseV0
    SCHEMA = Schema(
        ("state_filters", CompactArray(_TEXT)),
        ("producer_id_filters", CompactArray(Int64)),
        ("tags", TaggedFields),
    )


class ListTransactionsRequest(Request[ListTransactionsRequestV0]):  # type: ignore[misc]
    """The transactions of which a broker is the coordinator."""

    API_KEY = 66
    CLASSES: ClassVar = [ListTransactionsRequestV0]

    def __init__(self, states: Sequence[str]) -> None:
        self._states = list(states)

    def build(self, request_struct_class: Any) -> Any:
        return request_struct_class(self._states, [], {})
