"""The page on HTTP APIs and the README: their jobs run against a server that throttles, refuses and loses answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncsink.dead_letters import read_dead_letters
from asyncsink_http import HttpSink
from asyncsink_testing.http_server import HttpRequest, Reaction, ReceivedRequest, serving

PAGE = (Path(__file__).resolve().parents[1] / "how-to" / "http.md").read_text()
JOBS: Mapping[str, str] = dict(re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
SERVERS = ("https://api.example.com", "https://search.example.com:9200", "https://splunk.example.com:8088")
README = (Path(__file__).resolve().parents[2] / "connectors" / "http" / "README.md").read_text()
OF_THE_README = f"""
token = "s3cret"
rows = spark.readStream.schema("id BIGINT, customer STRING").json("incoming")
{README.partition("```python")[2].partition("```")[0]}
query.processAllAvailable()
query.stop()
"""
REPLAY = """
import shutil
for log in ("commits", "asyncsink"):  # as if the driver had died before it could note the micro-batch
    shutil.rmtree(f"checkpoints/payments/{log}")
"""


class Api:
    """Throttles the first orders, refuses order 13, loses the answer to the first payments, and speaks bulk and HEC."""

    def __init__(self) -> None:
        self._paths = Counter[str]()

    def __call__(self, request: HttpRequest) -> Reaction:
        self._paths[request.path] += 1
        is_first = self._paths[request.path] == 1
        if request.path == "/orders" and is_first:
            return Reaction.refuse(429, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"})
        if request.path == "/orders" and 13 in (row["id"] for row in json.loads(request.body)):
            return Reaction.refuse(422, b"no such customer")
        if request.path == "/payments" and is_first:
            return Reaction.drop_after_storing()
        if request.path.endswith("/_bulk"):
            return Reaction(body=b'{"took":1,"errors":false,"items":[]}')
        return Reaction()


def run_the_jobs(folder: Path) -> list[ReceivedRequest]:
    """Run all jobs of the page after each other in a folder; gives the requests that were stored."""
    (folder / "incoming").mkdir()
    orders = [{"id": each, "customer": "anne"} for each in (1, 2, 13, 4, 5)]
    (folder / "incoming" / "0.json").write_text("".join(f"{json.dumps(each)}\n" for each in orders))
    (folder / "token").write_text("s3cret\n")
    program = "\n".join([*JOBS.values(), REPLAY, JOBS["once"], OF_THE_README, "spark.stop()"])
    program = program.replace("/run/secrets/api-token", str(folder / "token")).replace("/data/", f"{folder}/data/")
    with serving(Api()) as server:
        for url in SERVERS:
            assert url in program
            program = program.replace(url, server.url)
        (folder / "program.py").write_text(program)
        environ = {"PYSPARK_PYTHON": sys.executable, **os.environ, "HEC_TOKEN": "abc"}
        done = subprocess.run(
            [sys.executable, "program.py"], cwd=folder, env=environ, capture_output=True, text=True, timeout=280,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return server.stored


@pytest.mark.timeout(300)
def test_the_jobs_of_the_page_run_after_each_other(tmp_path: Path) -> None:
    # One test: where several processes run the tests, each of several would start a Spark.
    sent = run_the_jobs(tmp_path)
    orders_arrive_although_they_are_throttled_and_one_is_refused(sent, tmp_path)
    customers_are_put_into_their_places_and_deleted(sent)
    a_ticket_has_its_null_and_its_body(sent)
    payments_have_the_same_keys_when_answers_are_lost_and_when_a_micro_batch_is_replayed(sent)
    a_form_is_what_the_page_says(sent)
    flights_are_documents_with_ids(sent)
    events_have_their_time(sent)
    lines_of_text_are_events(sent)
    the_sink_sends_what_the_loop_has_sent(sent)
    flights_of_the_readme_arrive(sent)


Sent = Sequence[ReceivedRequest]


def to(sent: Sent, path: str) -> list[ReceivedRequest]:
    return [each for each in sent if each.path.startswith(path)]


def rows(requests: Sent) -> list[Any]:
    return [row for each in requests for row in json.loads(each.body)]


def orders_arrive_although_they_are_throttled_and_one_is_refused(sent: Sent, folder: Path) -> None:
    requests = to(sent, "/orders")
    assert sorted(row["id"] for row in rows(requests)) == [1, 2, 4, 5]
    assert {each.headers["authorization"] for each in requests} == {"Bearer s3cret"}
    (letter,) = read_dead_letters(folder / "dead-letters" / "orders")
    assert (letter.code, "no such customer" in (letter.message or "")) == ("422", True)


def customers_are_put_into_their_places_and_deleted(sent: Sent) -> None:
    assert {(each.method, each.path, each.body) for each in to(sent, "/customers/")} == {
        ("PUT", "/customers/1", b'{"id":1,"name":"anne"}'),
        ("PUT", "/customers/2", b'{"id":2,"name":"bob"}'),
        ("DELETE", "/customers/3", b""),
    }


def a_ticket_has_its_null_and_its_body(sent: Sent) -> None:
    (request,) = to(sent, "/tickets")
    assert (request.method, request.path) == ("PATCH", "/tickets/1")
    assert f"`{request.body.decode()}`" in PAGE


def payments_have_the_same_keys_when_answers_are_lost_and_when_a_micro_batch_is_replayed(sent: Sent) -> None:
    requests = to(sent, "/payments")
    by_key = {each.headers["idempotency-key"]: each for each in requests}
    # Five payments in requests of two: written twice, and one of them was sent again.
    assert (len(by_key), len(requests)) == (3, 7)
    assert {(each.headers["idempotency-key"], each.body) for each in requests} == {
        (key, each.body) for key, each in by_key.items()
    }
    assert sorted(row["id"] for row in rows([*by_key.values()])) == [1, 2, 4, 5, 13]


def a_form_is_what_the_page_says(sent: Sent) -> None:
    (request,) = to(sent, "/messages")
    assert f"`{request.body.decode()}`" in PAGE
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"


def flights_are_documents_with_ids(sent: Sent) -> None:
    lines = [json.loads(line) for each in to(sent, "/flights/_bulk") for line in each.body.splitlines()]
    documents = [(action["index"]["_id"], row) for action, row in zip(lines[::2], lines[1::2], strict=True)]
    assert sorted(documents, key=lambda each: str(each[0])) == [
        (7, {"id": 7, "origin": "EWR"}),
        (8, {"id": 8, "origin": "JFK"}),
    ]


def events_have_their_time(sent: Sent) -> None:
    requests = [each for each in to(sent, "/services/collector") if each.path.endswith("/event")]
    assert {each.headers["authorization"] for each in requests} == {"Splunk abc"}
    events = [json.loads(line) for each in requests for line in each.body.splitlines()]
    assert {(each["time"], each["sourcetype"], each["event"]["text"]) for each in events} == {
        (1767225600.5, "_json", "started"),
        (1767225601.0, "_json", "stopped"),
    }


def lines_of_text_are_events(sent: Sent) -> None:
    requests = [each for each in to(sent, "/services/collector") if each.path.endswith("/collector")]
    assert {each.headers["authorization"] for each in requests} == {"Splunk abc"}
    events = [json.loads(line) for each in requests for line in each.body.splitlines()]
    assert sorted((each["event"], each["sourcetype"]) for each in events) == [
        ('GET / "200"', "access"),
        ("GET /favicon.ico 404", "access"),
    ]


def the_sink_sends_what_the_loop_has_sent(sent: Sent) -> None:
    loop = ((1, "anne"), (2, "bob"), (3, "anne"))
    bodies = Counter(json.dumps(json.loads(each.body)) for each in to(sent, "/loop"))
    assert bodies == {json.dumps([{"id": number, "customer": name}]): 2 for number, name in loop}


def flights_of_the_readme_arrive(sent: Sent) -> None:
    requests = [each for each in sent if each.path == "/flights"]
    assert sorted(row["id"] for row in rows(requests)) == [1, 2, 4, 5, 13]
    assert {each.headers["authorization"] for each in requests} == {"Bearer s3cret"}


def test_flinks_options_are_read_as_they_are() -> None:
    [ddl] = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    found = dict(re.findall(r"'([^']+)' = '([^']+)'", ddl))
    given = {key: value for key, value in found.items() if key not in ("connector", "format")}
    sink = HttpSink.from_options(given)
    options, config = sink.options, sink.config
    assert (options.method, options.body, options.ignore_codes) == ("PUT", "json-array", "404")
    assert options.headers == {"X-Tenant": "blue"}
    assert (options.oauth2_client_id, options.oauth2_auth_style) == ("spark", "post")
    assert options.tls_ca_file == "/etc/ssl/api.pem"
    assert (config.max_batch_size, config.request_timeout_s, config.max_in_flight_requests) == (200, 20.0, 16)
    assert (config.max_buffered_requests, config.max_time_in_buffer_s) == (5000, 2.0)
    prefixed = {f"gid.connector.{key}" if key.startswith("http.") else key: value for key, value in given.items()}
    assert HttpSink.from_options(prefixed).options == options
