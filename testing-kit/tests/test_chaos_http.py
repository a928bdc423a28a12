"""Kill and replay: an HTTP API with troubles, which knows repetitions by their key or by their place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import BinaryIO

import pytest

from asyncsink_testing.chaos import TARGETS, Campaign
from asyncsink_testing.chaos.log import LogReader, open_log
from asyncsink_testing.chaos.outcome import account
from asyncsink_testing.chaos.schedule import Kill
from asyncsink_testing.chaos.source import row
from asyncsink_testing.chaos.targets import EFFECTIVELY_ONCE, PARTITIONS, partitions
from asyncsink_testing.chaos.troubled_http_service import TroubledApi
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving
from asyncsink_testing.http_server.reaction import Ending


class Api(TroubledApi):
    """Without the delays, which show nothing here."""

    def slow(self, answer: Reaction) -> Reaction:
        return answer


@pytest.fixture
def log(tmp_path: Path) -> Iterator[BinaryIO]:
    with open_log(tmp_path) as opened:
        yield opened


def request(path: str, body: object, key: str | None = None, method: str = "POST") -> HttpRequest:
    headers = {} if key is None else {"idempotency-key": key}
    return HttpRequest(
        number=0, connection=0, method=method, path=path, headers=headers, body=json.dumps(body).encode(),
        size_in_bytes=0,
    )  # fmt: skip


def until_stored(api: Api, wanted: HttpRequest) -> None:
    """Send a request again until an answer says that it is stored, as a writer does."""
    while (answer := api.react(wanted)).status != 200 or answer.ending != "keep":
        assert answer.status in (200, 429, 503)


def test_it_has_all_troubles_and_stores_most(log: BinaryIO) -> None:
    api = Api(log)
    answers = Counter(
        (each.status, each.ending, each.stored) for each in (api.react(request("/rows", [])) for _ in range(2000))
    )
    troubles: dict[tuple[int, Ending, bool], float] = {
        (429, "keep", False): 0.10,
        (503, "keep", False): 0.03,
        (200, "reset", False): 0.05,
        (200, "reset", True): 0.05,
    }
    assert set(answers) == {*troubles, (200, "keep", True)}
    for trouble, share in troubles.items():
        assert share / 2 < answers[trouble] / 2000 < share * 2


def test_rows_stand_there_as_often_as_they_came_where_no_repetition_is_known(log: BinaryIO, tmp_path: Path) -> None:
    api = Api(log)
    for _ in range(3):
        until_stored(api, request("/rows", [row(1), row(2)], "a key"))
    assert len(LogReader(tmp_path).everything()) >= 6


@pytest.mark.parametrize("restarts", [False, True])
def test_a_request_is_stored_once_for_its_key_also_by_who_is_started_again(
    restarts: bool, log: BinaryIO, tmp_path: Path
) -> None:
    api = Api(log)
    for key, rows in [("a", [row(0)]), ("b", [row(1), row(2)])]:
        until_stored(api, request("/once", rows, key))
    api = Api(log) if restarts else api
    for key, rows in [("b", [row(1), row(2)]), ("a", [row(0)]), ("c", [row(3)])]:
        until_stored(api, request("/once", rows, key))
    assert LogReader(tmp_path).everything() == [row(number) for number in range(4)]


def test_a_repetition_under_another_key_is_a_duplicate_and_fails_the_run(log: BinaryIO, tmp_path: Path) -> None:
    api = Api(log)
    for key in "ab":
        until_stored(api, request("/once", [row(0)], key))
    outcome = account("http", EFFECTIVELY_ONCE, [], 1, LogReader(tmp_path).everything())
    assert outcome.duplicates == 1
    assert "1 rows stand in the destination more than once" in [*outcome.faults()]


def test_a_row_stands_once_in_its_place_and_another_one_there_is_strange(log: BinaryIO, tmp_path: Path) -> None:
    api = Api(log)
    for _ in range(3):
        until_stored(api, request("/rows/7", row(7), method="PUT"))
    assert LogReader(tmp_path).everything() == [row(7)]
    until_stored(Api(log), request("/rows/7", row(7), method="PUT"))
    until_stored(api, request("/rows/7", {"id": 7, "text": "other"}, method="PUT"))
    assert LogReader(tmp_path).everything() == [row(7), {"id": 7, "text": "other"}]


@pytest.mark.parametrize(
    "wrong", [request("/once", [row(0)]), request("/rows/8", row(7), method="PUT")], ids=["no key", "another place"]
)
def test_what_cannot_be_told_apart_is_refused(wrong: HttpRequest, log: BinaryIO, tmp_path: Path) -> None:
    api = Api(log)
    assert 400 in {api.react(wrong).status for _ in range(20)}
    assert LogReader(tmp_path).everything() == []


def test_over_the_wire_an_answer_is_lost_after_its_rows_were_stored(log: BinaryIO, tmp_path: Path) -> None:
    with serving(Api(log).react) as server:
        answered = sum(_is_answered(server, number) for number in range(60))
    stored = {each["id"] for each in LogReader(tmp_path).everything()}
    assert answered < len(stored) <= 60


def _is_answered(server: FaultyHttpServer, number: int) -> bool:
    connection = HTTPConnection(server.host, server.port)
    try:
        connection.request("POST", "/once", json.dumps([row(number)]), {"Idempotency-Key": str(number)})
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def test_a_replay_has_as_many_partitions_where_it_has_to_send_the_same_requests() -> None:
    assert len(partitions(EFFECTIVELY_ONCE)) == 1
    assert partitions("at-least-once") == PARTITIONS
    options = TARGETS["http"].options("http://here", EFFECTIVELY_ONCE)
    assert (options["url"], options["batching"]) == ("http://here/once", "deterministic")
    assert TARGETS["http-put"].format == TARGETS["http"].format == "asyncsink.http"


# ---- through Spark ---------------------------------------------------------------------------------------------------

KILLS = [Kill(1, "driver", "write"), Kill(2, "worker", "write"), Kill(3, "destination", "write")]


@pytest.mark.asyncsink_spark
@pytest.mark.timeout(300)
def test_lost_answers_and_kills_leave_one_result(tmp_path: Path) -> None:
    told: list[str] = []
    outcome = Campaign(TARGETS["http"], EFFECTIVELY_ONCE, KILLS, 1, tmp_path / "run", told.append).run()
    assert (outcome.missing, outcome.duplicates, outcome.strange, len(told)) == (0, 0, 0, len(KILLS) + 1), told
