"""kinesis-local: Kinesis Mock, a Kinesis of its own that runs in Node."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from asyncsink_testing.aws.boto import boto_client
from asyncsink_testing.aws.fake import REGION
from asyncsink_testing.aws.kinesis_fake import StoredRecord
from asyncsink_testing.aws.kinesis_reader import KinesisReader, create_stream
from asyncsink_testing.aws.process import ServiceProcess
from asyncsink_testing.aws.unavailable import AwsUnavailable
from asyncsink_testing.cache import kept
from asyncsink_testing.ports import HOST, free_ports

KINESIS_LOCAL_VERSION = "0.6.2"

_DOWNLOAD_S = 300.0
_QUICK = {
    f"{what}_DURATION": "0ms"
    for what in ("CREATE_STREAM", "DELETE_STREAM", "MERGE_SHARDS", "SPLIT_SHARD", "UPDATE_SHARD_COUNT")
}


class KinesisLocal(ServiceProcess):
    """A Kinesis that keeps streams and shards as the service does, but knows neither its limits nor signatures.

    The first start of all fetches it from npm, 3 MB.

    :param region: of the streams
    :param folder: for its log, and kept; by default a temporary one
    :raises AwsUnavailable: on entering: no Node, or no npm to fetch it with
    """

    def __init__(self, *, region: str = REGION, folder: Path | None = None) -> None:
        super().__init__("kinesis-local", folder)
        self.region = region
        self._ports = (0, 0)

    def __enter__(self) -> Self:
        command = [node(), str(program() / "main.js")]
        plain, tls = free_ports(2)
        self._ports = (plain, tls)
        own = {
            "AWS_REGION": self.region,
            "KINESIS_MOCK_CERT_PATH": str(program() / "server.json"),
            "KINESIS_MOCK_PLAIN_PORT": str(plain),
            "KINESIS_MOCK_TLS_PORT": str(tls),
            "LOG_LEVEL": "WARN",
            "SHARD_LIMIT": "1000",
            "SHOULD_PERSIST_DATA": "false",
        }
        self._start(command, {**_QUICK, **own}, plain)
        return self

    @property
    def endpoint(self) -> str:
        """Without TLS."""
        return f"http://{HOST}:{self._ports[0]}"

    @property
    def tls_endpoint(self) -> str:
        """With a certificate that nobody has signed."""
        return f"https://{HOST}:{self._ports[1]}"

    @cached_property
    def client(self) -> Any:
        """boto3's, to make and look at streams with.

        :raises AwsUnavailable: boto3 is not installed
        """
        return boto_client("kinesis", self.endpoint, self.region)

    def create_stream(self, name: str, shards: int = 1) -> None:
        """Make a stream, and return when it takes records."""
        create_stream(self.client, name, shards)

    def records(self, stream: str) -> list[StoredRecord]:
        """All that stands in a stream, shard by shard. What hash key a record brought, the service does not tell."""
        return KinesisReader(self.client, stream).fresh()


def node() -> str:
    """The ``node`` of PATH.

    :raises AwsUnavailable: there is none
    """
    found = shutil.which("node")
    if found is None:
        raise AwsUnavailable("no node in PATH, which kinesis-local runs in: install Node.js 18 or later")
    return found


def program(cache: Path | None = None) -> Path:
    """The folder of the program; fetched once for each user, however many ask at once.

    :param cache: the folder to keep it below; by default ``asyncsink-testing`` in the user's cache
    :raises AwsUnavailable: it is not there and npm is missing, or fetches nothing
    """
    return kept(f"kinesis-local-{KINESIS_LOCAL_VERSION}", _fetch, cache)


def _fetch(folder: Path) -> Path:
    wanted = f"kinesis-local@{KINESIS_LOCAL_VERSION}"
    npm = shutil.which("npm")
    if npm is None:
        raise AwsUnavailable(f"no npm in PATH to fetch {wanted} with: install Node.js 18 or later")
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", wanted]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_S, env={**os.environ}
        )
    except subprocess.TimeoutExpired:
        raise AwsUnavailable(f"npm did not fetch {wanted} within {_DOWNLOAD_S:g} s") from None
    found = folder / "node_modules" / "kinesis-local"
    if done.returncode or not (found / "main.js").is_file():
        raise AwsUnavailable(f"npm did not fetch {wanted}: {(done.stdout + done.stderr).strip()[-1000:]}")
    return found
