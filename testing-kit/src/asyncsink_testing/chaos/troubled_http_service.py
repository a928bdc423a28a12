"""An HTTP API that has troubles of its own, in a process of its own: ``python -m …chaos.troubled_http_service FOLDER``.

What it does with a request depends on its address:

- ``POST /rows`` stores the rows, as often as they come
- ``POST /once`` stores them unless it has stored a request with this ``Idempotency-Key``
- ``PUT /rows/<id>`` stores one row in its place, where the same row may stand already
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import BinaryIO

import anyio

from asyncsink_testing.chaos.http_service import Api, serve
from asyncsink_testing.chaos.log import read_keys
from asyncsink_testing.http_server import HttpRequest, Reaction

THROTTLED, RESET_BEFORE, RESET_AFTER, UNAVAILABLE = 0.10, 0.05, 0.05, 0.03
"""Shares of the requests that are throttled, cut off before and after they are stored, and put off."""

RETRY_AFTERS_S = (0, 0, 0, 1)
"""What a throttle asks for, each as likely as the others; a second stops all that a writer has to send."""


class TroubledApi(Api):
    """Answers as if it were busy and far away, by a seed, whatever is killed beside that."""

    def __init__(self, log: BinaryIO) -> None:
        super().__init__(log)
        self._keys = read_keys(Path(log.name).parent)
        self._troubles = Random(len(self._keys))

    def react(self, request: HttpRequest) -> Reaction:
        drawn = self._troubles.random()
        for share, answer in (
            (THROTTLED, Reaction.throttle(self._troubles.choice(RETRY_AFTERS_S))),
            (UNAVAILABLE, Reaction.refuse(503)),
            (RESET_BEFORE, Reaction.drop_before_storing()),
        ):
            if drawn < share:
                return answer
            drawn -= share
        answer = self._stored(request)
        return Reaction.drop_after_storing() if answer.stored and drawn < RESET_AFTER else self.slow(answer)

    def _stored(self, request: HttpRequest) -> Reaction:
        told = json.loads(request.body)
        if request.method == "PUT":
            return self._put(request.path.rpartition("/")[2], told)
        if request.path != "/once":
            self.store(json.dumps(told).encode() + b"\n")
            return Reaction.OK
        key = request.headers.get("idempotency-key")
        if key is None:
            return Reaction.refuse(400, b"an Idempotency-Key is needed here")
        self._store_once(key, told)
        return Reaction.OK

    def _put(self, name: str, row: dict[str, object]) -> Reaction:
        if name != str(row.get("id")):
            return Reaction.refuse(400, b"the row has another id than its address")
        # A row that came with other values would be strange, and is written down beside the first.
        self._store_once(json.dumps([name, row], sort_keys=True), [row])
        return Reaction.OK

    def _store_once(self, key: str, rows: list[object]) -> None:
        if key not in self._keys:
            # In one line: a kill takes both or neither.
            self.store(json.dumps({"key": key, "rows": rows}).encode() + b"\n")
            self._keys.add(key)


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]), TroubledApi)
