"""The conformance kit on the wire: every check of it, against a delivery stream that misbehaves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from asyncsink_testing import Capabilities, Destination, SinkConformance
from asyncsink_testing.aws import FirehoseDestination


def firehose_destination() -> AbstractAsyncContextManager[Destination]:
    return FirehoseDestination.opened()


class TestFirehose(SinkConformance):
    connector = "firehose"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="none",
        partial_failure=True,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state=True,
        max_batch_entries=500,
        max_batch_bytes=4 * 1024 * 1024,
        max_record_bytes=1000 * 1024,
        client_modules=("botocore", "aiobotocore", "aiohttp", "msgspec"),
    )

    @pytest.fixture
    def destination(self) -> object:
        return firehose_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {
            "endpoint": "{endpoint}",
            "deliveryStream": "{stream}",
            "region": "{region}",
            "accessKeyId": "AKIDEXAMPLE",
            "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        }
