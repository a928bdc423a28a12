"""moto: many of AWS's services as one process, among them Kinesis and Firehose."""

from __future__ import annotations

import sys
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from asyncsink_testing.aws.boto import boto_client
from asyncsink_testing.aws.fake import ACCOUNT, REGION
from asyncsink_testing.aws.kinesis_fake import StoredRecord
from asyncsink_testing.aws.kinesis_reader import KinesisReader, create_stream
from asyncsink_testing.aws.process import ServiceProcess
from asyncsink_testing.aws.unavailable import AwsUnavailable
from asyncsink_testing.ports import HOST, free_ports


class MotoServer(ServiceProcess):
    """Kinesis, Firehose and S3 of moto's; none of them knows signatures.

    :param folder: for its log, and kept; by default a temporary one
    :raises AwsUnavailable: on entering: moto's server is not installed
    """

    def __init__(self, *, region: str = REGION, folder: Path | None = None) -> None:
        super().__init__("moto", folder)
        self.region = region
        self._port = 0

    def __enter__(self) -> Self:
        if find_spec("moto") is None or find_spec("flask") is None:
            raise AwsUnavailable("moto's server is not installed: pip install 'moto[server]'")
        [self._port] = free_ports(1)
        command = [sys.executable, "-m", "moto.server", "--host", HOST, "--port", str(self._port)]
        self._start(command, {}, self._port)
        return self

    @property
    def endpoint(self) -> str:
        """Of all services."""
        return f"http://{HOST}:{self._port}"

    @cached_property
    def client(self) -> Any:
        """boto3's, for Kinesis.

        :raises AwsUnavailable: boto3 is not installed, as for the others
        """
        return boto_client("kinesis", self.endpoint, self.region)

    @cached_property
    def firehose(self) -> Any:
        return boto_client("firehose", self.endpoint, self.region)

    @cached_property
    def s3(self) -> Any:
        return boto_client("s3", self.endpoint, self.region)

    def create_stream(self, name: str, shards: int = 1) -> None:
        """Make a Kinesis stream, and return when it takes records."""
        create_stream(self.client, name, shards)

    def records(self, stream: str) -> list[StoredRecord]:
        """All that stands in a Kinesis stream, shard by shard."""
        return KinesisReader(self.client, stream).fresh()

    def create_delivery_stream(self, name: str) -> None:
        """Make a delivery stream that delivers to a bucket of the same name."""
        self.s3.create_bucket(Bucket=name)
        self.firehose.create_delivery_stream(
            DeliveryStreamName=name,
            DeliveryStreamType="DirectPut",
            ExtendedS3DestinationConfiguration={
                "RoleARN": f"arn:aws:iam::{ACCOUNT}:role/firehose",
                "BucketARN": f"arn:aws:s3:::{name}",
            },
        )

    def delivered(self, name: str) -> list[bytes]:
        """The objects in the bucket of a delivery stream: the records of one request each, put together as they are."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=name)
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return [self.s3.get_object(Bucket=name, Key=key)["Body"].read() for key in keys]
