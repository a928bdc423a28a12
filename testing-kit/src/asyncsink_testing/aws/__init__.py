"""Kinesis and Firehose for tests: fakes with the services' own limits and sentences, and destinations of the checks.

None of it is part of AWS. What imports boto3, moto or Node does so where it is used.
"""

from __future__ import annotations

from asyncsink_testing.aws.calls import answered, refused
from asyncsink_testing.aws.destinations import FirehoseDestination, KinesisDestination
from asyncsink_testing.aws.firehose_fake import FirehoseFake
from asyncsink_testing.aws.forwarding import FirehoseDestinations, KinesisDestinations
from asyncsink_testing.aws.kinesis_fake import KinesisFake, StoredRecord
from asyncsink_testing.aws.kinesis_local import KinesisLocal
from asyncsink_testing.aws.kinesis_reader import KinesisReader
from asyncsink_testing.aws.moto_server import MotoServer
from asyncsink_testing.aws.shards import Shard, ShardModel, hash_key_of
from asyncsink_testing.aws.unavailable import AwsUnavailable

__all__ = [
    "AwsUnavailable",
    "FirehoseDestination",
    "FirehoseDestinations",
    "FirehoseFake",
    "KinesisDestination",
    "KinesisDestinations",
    "KinesisFake",
    "KinesisLocal",
    "KinesisReader",
    "MotoServer",
    "Shard",
    "ShardModel",
    "StoredRecord",
    "answered",
    "hash_key_of",
    "refused",
]
