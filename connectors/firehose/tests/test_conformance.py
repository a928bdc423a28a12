"""The conformance kit on the wire: every check of it, against a delivery stream that misbehaves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from asyncsink_testing import Capabilities, Destination, SinkConformance
from asyncsink_testing.aws import FirehoseDestination

from .packed_stream import PackedDestination

OPTIONS = {
    "endpoint": "{endpoint}",
    "deliveryStream": "{stream}",
    "region": "{region}",
    "accessKeyId": "AKIDEXAMPLE",
    "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}


def firehose_destination() -> AbstractAsyncContextManager[Destination]:
    return FirehoseDestination.opened()


def packed_destination() -> AbstractAsyncContextManager[Destination]:
    return PackedDestination.opened()


def capabilities(max_batch_entries: int | None) -> Capabilities:
    return Capabilities(
        guarantee="at-least-once",
        ordering="none",
        partial_failure=True,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state=True,
        max_batch_entries=max_batch_entries,
        max_batch_bytes=4 * 1024 * 1024,
        max_record_bytes=1000 * 1024,
        client_modules=("botocore", "aiobotocore", "aiohttp", "msgspec"),
    )


class TestFirehose(SinkConformance):
    connector = "firehose"
    capabilities = capabilities(500)

    @pytest.fixture
    def destination(self) -> object:
        return firehose_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return OPTIONS


class TestPackedFirehose(TestFirehose):
    """Two rows a record, so that a request of the checks has several, and some fail without the others."""

    # Of rows a request may hold as many as its bytes allow; the stream counts records, and refuses more than 500.
    capabilities = capabilities(None)

    @pytest.fixture
    def destination(self) -> object:
        return packed_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {**OPTIONS, "packing": "rows", "packedRecordRows": "2"}
