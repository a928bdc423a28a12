"""What a shard bears, as the limits of a writer whose routes are shards. Imports nothing that is not needed for that.

https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from asyncsink.config import AsyncSinkWriterConfig, MiB
from asyncsink.limits import RateLimit

RECORDS_PER_S: Final = 1_000
BYTES_PER_S: Final = 1_000_000

PER_SHARD: Final = RateLimit.fixed(records=RECORDS_PER_S, size_in_bytes=BYTES_PER_S)
"""Of each shard, as each has a scope of its own.

Writers divide it only if they are told how many they are: by ``rateLimit.writers``, or under Spark by what a ledger has
kept of the batch before.
"""

AGGREGATED: Final = RateLimit.fixed(size_in_bytes=BYTES_PER_S)
"""The same where many rows share a record: a shard's bytes are used up long before its records are.

They are spent as :func:`~asyncsink_kinesis.aggregation.sizes.row_size` counts them, so that less than a shard takes is
used where keys repeat: how many rows of a record share a key is not known before the limit has let them go.
"""


def per_shard(defaults: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
    """The limits of a writer with ``perShardLimits``: no request holds more than a shard takes in a second."""
    return replace(defaults, rate_limit=PER_SHARD, max_batch_size_in_bytes=MiB, max_record_size_in_bytes=MiB)


def aggregated(defaults: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
    """The limits of a writer with ``aggregation=kpl``, whose entries are rows: many of them make one record."""
    return replace(per_shard(defaults), rate_limit=AGGREGATED, max_batch_size=10_000, max_buffered_requests=100_000)
