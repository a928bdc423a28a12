"""CloudWatch for the kit's checks: a server that misbehaves as told, and moto behind it, which stores."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from itertools import count
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from asyncsink_testing import Destination, HttpAnswers, HttpDestination, HttpRequest, Reaction

REGION = "eu-central-1"
QUERIES = 500
"""The most that one GetMetricData takes."""

Metric = dict[str, Any]


class Moto:
    """One moto for all checks. Each destination has an account of its own there, so that it begins empty."""

    def __init__(self, host: str, port: int) -> None:
        self._address, self._account, self._accounts = (host, port), "", count(1)
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        self._client = boto3.client("cloudwatch", REGION, endpoint_url=f"http://{host}:{port}", **keys)
        self._client.meta.events.register("before-call", self._name_account)

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Moto]:
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        try:
            moto = cls(*server.get_host_and_port())
            moto._stored("")  # the first request takes moto most of a second
            yield moto
        finally:
            server.stop()

    @asynccontextmanager
    async def destination(self) -> AsyncIterator[Destination]:
        """A server before this moto, which misbehaves as the checks tell it."""
        account = f"{next(self._accounts):012}"

        def stored(request: HttpRequest) -> Reaction:
            return self._put(account, request)

        async def received() -> list[Metric]:
            return self._stored(account)

        answers = HttpAnswers(
            stored=stored,
            throttled=refusal(400, "Throttling"),
            refused=refusal(500, "InternalServiceError"),
            rejected=refusal(400, "InvalidParameterValue"),
            fatal=refusal(403, "AccessDenied"),
        )
        async with HttpDestination.opened(metrics_in, answers, received=received) as destination:
            yield destination

    def _put(self, account: str, request: HttpRequest) -> Reaction:
        """Hand a request on, decompressed, and answer what moto answers."""
        names = request.headers.keys() - {"content-encoding", "content-length"}
        headers = {"x-moto-account-id": account, **{name: request.headers[name] for name in names}}
        with closing(HTTPConnection(*self._address)) as connection:
            connection.request("POST", request.path, request.body, headers)
            answer = connection.getresponse()
            return Reaction(status=answer.status, body=answer.read())

    def _stored(self, account: str) -> list[Metric]:
        """Every metric of the account, as often as it has samples."""
        self._account = account
        pages = self._client.get_paginator("list_metrics").paginate()
        # Moto lists a metric without dimensions once for each of its samples.
        metrics = [*{json.dumps(metric): metric for page in pages for metric in page["Metrics"]}.values()]
        asked = [metrics[start : start + QUERIES] for start in range(0, len(metrics), QUERIES)]
        return [metric for some in asked for metric in self._by_samples(some)]

    def _by_samples(self, metrics: Sequence[Metric]) -> Iterator[Metric]:
        queries = [
            {"Id": f"m{number}", "MetricStat": {"Metric": metric, "Period": 86_400, "Stat": "SampleCount"}}
            for number, metric in enumerate(metrics)
        ]
        now, hour = datetime.now(UTC), timedelta(hours=1)
        answer = self._client.get_metric_data(MetricDataQueries=queries, StartTime=now - hour, EndTime=now + hour)
        for metric, result in zip(metrics, answer["MetricDataResults"], strict=True):
            yield from [metric] * int(sum(result["Values"]))

    def _name_account(self, params: dict[str, Any], **_: Any) -> None:
        params["headers"]["x-moto-account-id"] = self._account


def metrics_in(request: HttpRequest) -> list[Metric]:
    """The entries of a request."""
    metrics: list[Metric] = json.loads(request.body)["MetricData"]
    return metrics


def refusal(status: int, code: str) -> Reaction:
    """An error as the service words it."""
    return Reaction.refuse(status, json.dumps({"__type": code, "message": f"refused as {code}"}).encode())


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    with Moto.running() as moto:
        yield moto


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where botocore looks for them first."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
