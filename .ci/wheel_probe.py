"""Sends rows by the connector's name alone, in batch and as a stream, to a bare HTTP server in another process.

It runs in an environment that holds what a user has installed; nothing of the repository may be imported here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

ROWS = 1000
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_message = lambda *arguments: None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock, open(sys.argv[1], "ab") as log:
            log.write(self.path.encode() + b" " + body + b"\\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

lock = Lock()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Door:
    """One of the two ways to name a connector."""

    format: str
    options: dict[str, str] = field(default_factory=dict)


DOORS = {"named": Door("asyncsink.http"), "general": Door("asyncsink", {"sink": "http"})}


@contextmanager
def bare_server(log: Path) -> Iterator[str]:
    """A server that answers 200 to everything and appends path and body of each request to `log`."""
    with subprocess.Popen([sys.executable, "-I", "-c", SERVER, log], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def write_batch(rows: DataFrame, door: Door, url: str) -> None:
    rows.write.format(door.format).options(url=url, **door.options).mode("append").save()


def write_stream(spark: SparkSession, source: Path, door: Door, url: str, checkpoint: Path) -> None:
    rows = spark.readStream.schema("id BIGINT, name STRING").json(str(source))
    writer = rows.writeStream.format(door.format).options(url=url, **door.options)
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()


def received(log: Path, path: str) -> list[int]:
    """The row numbers that came under `path`."""
    bodies = [line.partition(" ")[2] for line in log.read_text().splitlines() if line.startswith(f"{path} ")]
    return sorted(row["id"] for body in bodies for row in json.loads(body))


def main(folder: Path) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rows = spark.range(ROWS).selectExpr("id", "concat('row ', id) AS name")
    rows.write.json(str(folder / "source"))
    log = folder / "log"
    with bare_server(log) as url:
        for name, door in DOORS.items():
            write_batch(rows, door, f"{url}/{name}/batch")
            write_stream(spark, folder / "source", door, f"{url}/{name}/stream", folder / "checkpoint" / name)
    for path in [f"/{name}/{kind}" for name in DOORS for kind in ("batch", "stream")]:
        if received(log, path) != list(range(ROWS)):
            sys.exit(f"{path}: {len(received(log, path))} rows arrived, not each of {ROWS} once")
        sys.stdout.write(f"{path}: each of {ROWS} rows arrived once\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="asyncsink-wheels-") as name:
        main(Path(name))
