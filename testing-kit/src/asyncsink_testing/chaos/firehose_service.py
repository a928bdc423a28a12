"""A Firehose delivery stream in a process of its own: ``python -m …chaos.firehose_service FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from asyncsink_testing.chaos.aws_api import FirehoseApi
from asyncsink_testing.chaos.http_service import serve

if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]), FirehoseApi)
