"""What the fakes of Kinesis and Firehose share as destinations of a run: they outlive a kill by a log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from asyncsink_testing.aws.fake import AwsFake
from asyncsink_testing.aws.firehose_fake import FirehoseFake
from asyncsink_testing.aws.kinesis_fake import KinesisFake
from asyncsink_testing.chaos.http_service import Api
from asyncsink_testing.chaos.source import Row
from asyncsink_testing.http_server import HttpRequest, Reaction

STREAM = "rows"


class AwsApi(Api):
    """Writes down the rows of each request before it is answered; neither kinesis-local nor moto outlives a kill so.

    :param fake: with the limits and the signatures of its service
    """

    def __init__(self, log: BinaryIO, fake: AwsFake) -> None:
        super().__init__(log)
        self._fake = fake

    def react(self, request: HttpRequest) -> Reaction:
        answer = self._fake.react(request)
        rows = [row for each in self._fake.taken() for row in rows_of(each)]
        if not rows:
            return answer
        self.store(json.dumps(rows).encode() + b"\n")
        return self.slow(answer)


def rows_of(data: bytes) -> Iterator[Row]:
    """The rows of a record, a line each; one that no source has for a line that is none."""
    for line in data.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        yield row if isinstance(row, dict) else {"id": None}


class KinesisApi(AwsApi):
    def __init__(self, log: BinaryIO) -> None:
        super().__init__(log, KinesisFake(STREAM))


class FirehoseApi(AwsApi):
    def __init__(self, log: BinaryIO) -> None:
        super().__init__(log, FirehoseFake(STREAM))
