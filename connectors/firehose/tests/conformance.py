"""What the suites of the conformance kit share: what Firehose can do, and how a sink reaches it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from asyncsink_testing import Capabilities, SinkConformance

OPTIONS = {
    "endpoint": "{endpoint}",
    "deliveryStream": "{stream}",
    "region": "{region}",
    "accessKeyId": "AKIDEXAMPLE",
    "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}


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
        commits=False,
        max_batch_entries=max_batch_entries,
        max_batch_bytes=4 * 1024 * 1024,
        max_record_bytes=1000 * 1024,
        client_modules=("botocore", "aiobotocore", "aiohttp", "msgspec"),
    )


class FirehoseConformance(SinkConformance):
    """Everything but the delivery stream, which a suite opens as its fixture `destination`."""

    __test__ = False

    connector = "firehose"
    capabilities = capabilities(500)

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return OPTIONS
