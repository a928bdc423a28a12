"""A destination that acknowledges before it stores, and holds the last requests in memory: a kill loses them."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from typing import BinaryIO

import anyio

from asyncsink_testing.chaos.http_service import Api, serve

_HELD = 8
"""Requests that it holds back."""


class Forgetful(Api):
    """Writes a request down when eight more have come; stands before another one in the order of bases."""

    def __init__(self, log: BinaryIO) -> None:
        super().__init__(log)
        self._held: deque[bytes] = deque()

    def store(self, line: bytes) -> None:
        self._held.append(line)
        while len(self._held) > _HELD:
            super().store(self._held.popleft())


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]), Forgetful)
