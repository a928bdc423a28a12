"""The programs of the how-to work as they stand there, against a server that throttles them and refuses one order."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from asyncsink import read_dead_letters

DOCUMENT = Path(__file__).resolve().parents[1] / "how-to" / "without-spark.md"


class Orders(ThreadingHTTPServer):
    """Stores each line; refuses a request that holds order 13, and throttles every fifth."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.stored: list[str] = []
        self.requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Orders

    def do_POST(self) -> None:
        lines = self.rfile.read(int(self.headers["Content-Length"])).decode().split("\n")
        self.server.requests += 1
        status = 429 if self.server.requests % 5 == 0 else 422 if "order 13" in lines else 200
        if status == 200:
            self.server.stored += lines
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Not to the output of the tests."""


@pytest.fixture
def orders() -> Iterator[Orders]:
    with Orders() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(program: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the document's programs, which stand beside each other in `folder`."""
    for code in re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE):
        (folder / code.split()[1]).write_text(code)
    command = [sys.executable, str(folder / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_the_program_delivers_in_order_and_keeps_what_is_refused(orders: Orders, tmp_path: Path) -> None:
    folder = tmp_path / "dead"
    done = run("program.py", tmp_path, str(orders.server_port), str(folder))
    expected = [number for number in range(200) if number != 13]
    stored = [int(line.removeprefix("order ")) for line in orders.stored]
    assert sorted(stored) == expected
    for customer in range(70):
        of_customer = [each for each in stored if each % 70 == customer]
        assert of_customer == sorted(of_customer)
    (letter,) = read_dead_letters(folder)
    assert (letter.code, letter.attempts) == ("422", 1)
    assert letter.entry is not None
    assert b"order 13" in letter.entry
    assert "acknowledged=199, dead_lettered=1" in done.stdout
    assert "asyncsink.metrics" in done.stderr
    assert "numRecordsDeadLettered=1" in done.stderr


def test_the_program_without_an_event_loop_delivers_all(orders: Orders, tmp_path: Path) -> None:
    done = run("plain.py", tmp_path, str(orders.server_port))
    assert sorted(orders.stored) == sorted(f"parcel {number}" for number in range(100))
    assert "acknowledged=100" in done.stdout
