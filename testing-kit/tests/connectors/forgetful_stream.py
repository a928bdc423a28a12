"""A Kinesis stream that loses what a forgetful destination loses."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from forgetful_service import Forgetful

from asyncsink_testing.chaos.aws_api import KinesisApi
from asyncsink_testing.chaos.http_service import serve


class ForgetfulStream(Forgetful, KinesisApi):
    """Writes the rows of a request down when eight more requests have come."""


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]), ForgetfulStream)
