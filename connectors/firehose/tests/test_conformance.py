"""The conformance kit on the wire: every check of it, against a delivery stream that misbehaves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from asyncsink_testing import Destination
from asyncsink_testing.aws import FirehoseDestination

from .conformance import OPTIONS, FirehoseConformance, capabilities
from .packed_stream import PackedDestination


def firehose_destination() -> AbstractAsyncContextManager[Destination]:
    return FirehoseDestination.opened()


def packed_destination() -> AbstractAsyncContextManager[Destination]:
    return PackedDestination.opened()


class TestFirehose(FirehoseConformance):
    @pytest.fixture
    def destination(self) -> object:
        return firehose_destination


class TestPackedFirehose(FirehoseConformance):
    """Two rows a record, so that a request of the checks has several, and some fail without the others."""

    # Of rows a request may hold as many as its bytes allow; the stream counts records, and refuses more than 500.
    capabilities = capabilities(None)

    @pytest.fixture
    def destination(self) -> object:
        return packed_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {**OPTIONS, "packing": "rows", "packedRecordRows": "2"}
