"""The conformance kit on the wire: every check of it, against a stream that misbehaves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from asyncsink_testing import Capabilities, Destination, SinkConformance
from asyncsink_testing.aws import KinesisDestination


def kinesis_destination() -> AbstractAsyncContextManager[Destination]:
    return KinesisDestination.opened()


class TestKinesis(SinkConformance):
    connector = "kinesis"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="key",
        partial_failure=True,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state=True,
        commits=False,
        max_batch_entries=500,
        max_batch_bytes=10 * 1024 * 1024,
        max_record_bytes=1024 * 1024,
        client_modules=("botocore", "aiobotocore", "aiohttp", "msgspec"),
    )

    @pytest.fixture
    def destination(self) -> object:
        return kinesis_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {
            "endpoint": "{endpoint}",
            "streamName": "{stream}",
            "region": "{region}",
            "partitionKey": "key",
            "accessKeyId": "AKIDEXAMPLE",
            "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        }
