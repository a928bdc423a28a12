"""What one PutRecordBatch takes, by the service's reference; none of it can be raised."""

from __future__ import annotations

from typing import Final

from asyncsink.config import KiB, MiB

MAX_RECORDS: Final = 500
"""Records of a request."""
MAX_REQUEST_BYTES: Final = 4 * MiB
"""Data of a request, before it is encoded as base64."""
MAX_RECORD_BYTES: Final = 1000 * KiB
"""Data of a record, before it is encoded as base64."""

BILLED_STEP_BYTES: Final = 5 * KiB
"""Each record is billed as so many bytes, or a multiple of them."""

MAX_DEAGGREGATED_ROWS: Final = 500
"""Rows of a record that Firehose takes apart again for dynamic partitioning; with more it takes none apart."""
