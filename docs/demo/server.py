"""The destination: an HTTP API in a process of its own that misbehaves in every way the demo knows.

``python server.py FOLDER`` keeps the bodies that it stores in ``FOLDER/stored.log``, which is all that the check at the
end believes, and says how it is doing in ``FOLDER/server.json``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import anyio

from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

CAPACITY = 16
"""Requests that it serves at once; what comes on top is throttled."""
STATUS_PERIOD_S = 0.1


class FlightsApi:
    """Decides about each request, writes down what it stores, and counts what it does."""

    def __init__(self, log: BinaryIO) -> None:
        self.counts: Counter[str] = Counter()
        self.server = FaultyHttpServer(self.react, keep_bodies=False)
        self._peak = 0
        self._log = log
        self._random = random.Random(2013)

    def react(self, request: HttpRequest) -> Reaction:
        self._peak = max(self._peak, self.server.in_flight)
        name, reaction = self._misbehaviour(request)
        self.counts[name] += 1
        if reaction.stored:
            self._store(request.body)
        return reaction

    def _misbehaviour(self, request: HttpRequest) -> tuple[str, Reaction]:
        if self.server.in_flight > CAPACITY:
            return "throttled", Reaction.throttle(retry_after=1)
        chance = self._random.random()
        if chance < 0.004:
            return "unavailable", Reaction.refuse(503)
        if chance < 0.006:
            return "dropped before storing", Reaction.drop_before_storing()
        if chance < 0.008:
            return "dropped after storing", Reaction.drop_after_storing()
        if request.number % 300 >= 280:
            return "slow", Reaction.OK.after(0.25)
        return "served", Reaction.OK.after(self._random.uniform(0.01, 0.05))

    def _store(self, body: bytes) -> None:
        self._log.write(b"%d\n%b\n" % (len(body), body))
        self._log.flush()
        self.counts["rows stored"] += body.count(b'"row":')

    def status(self) -> dict[str, object]:
        """The counts so far, and the most requests that were in flight at once since the last status."""
        peak, self._peak = max(self._peak, self.server.in_flight), 0
        return {"url": self.server.url, "in flight": peak, **self.counts}


async def serve(folder: Path) -> None:
    """Runs until SIGTERM, or until the process that started it is gone."""
    with (folder / "stored.log").open("wb") as log, anyio.open_signal_receiver(signal.SIGTERM) as signals:
        api = FlightsApi(log)
        async with api.server, anyio.create_task_group() as group:
            group.start_soon(keep_status, api, folder / "server.json")
            async for _ in signals:
                break
            group.cancel_scope.cancel()
        write_json(folder / "server.json", api.status())


async def keep_status(api: FlightsApi, path: Path) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        write_json(path, api.status())
        await anyio.sleep(STATUS_PERIOD_S)
    raise SystemExit("the demo is gone, and its server with it")


def write_json(path: Path, value: object) -> None:
    """Replaces a file as a whole: readers see the old one or the new one."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(value))
    draft.replace(path)


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]))
