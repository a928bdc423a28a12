"""A reference metadata service over HTTP: ``python metadata_server.py FILE [--port N] [--token-file FILE]``.

Serves a metadata file in the layout that has a version to ``metadataService=http``: ``GET /streams`` answers 200 with
its JSON and an ETag, or 304 to who has that already in ``If-None-Match``; 401 to who does not send the token, if there
is one; and 503 while the file cannot be read, so that sinks go on by what they know. The file is read for each request:
edit it by renaming a new one onto it.
"""

from __future__ import annotations

import argparse
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PATH = "/streams"


class MetadataServer(ThreadingHTTPServer):
    """Listens on loopback; put TLS in front of it where others are to ask.

    :param port: 0 for any that is free
    :param token: what a client has to send as bearer token; None lets everybody ask
    """

    daemon_threads = True

    def __init__(self, file: Path, port: int = 0, token: str | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Answer)
        self.file, self.token = file, token

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{PATH}"

    def document(self) -> bytes:
        """The file as it is now.

        :raises OSError: it cannot be read
        :raises ValueError: it is not JSON
        """
        data = self.file.read_bytes()
        json.loads(data)
        return data

    def lets_in(self, authorization: str | None) -> bool:
        if self.token is None:
            return True
        # In the same time for every token that is wrong.
        return hmac.compare_digest((authorization or "").encode(), f"Bearer {self.token}".encode())


class _Answer(BaseHTTPRequestHandler):
    server: MetadataServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self.server.lets_in(self.headers["Authorization"]):
            self._send(HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})
        elif self.path != PATH:
            self._send(HTTPStatus.NOT_FOUND)
        else:
            self._send_document()

    def _send_document(self) -> None:
        try:
            body = self.server.document()
        except (OSError, ValueError):
            self._send(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        tag = f'"{sha256(body).hexdigest()[:32]}"'
        if tag in (self.headers["If-None-Match"] or ""):
            self._send(HTTPStatus.NOT_MODIFIED, {"ETag": tag})
        else:
            self._send(HTTPStatus.OK, {"ETag": tag, "Content-Type": "application/json"}, body)

    def _send(self, status: HTTPStatus, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: it is asked time after time."""


@contextmanager
def serving(file: Path, token: str | None = None) -> Iterator[str]:
    """The server in a thread of its own, until the end of the block, and its URL."""
    with MetadataServer(file, token=token) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python metadata_server.py", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--token-file", type=Path, help="holds the token that clients have to send")
    options = parser.parse_args()
    token = None if options.token_file is None else options.token_file.read_text().strip()
    with MetadataServer(options.file, options.port, token) as server:
        print(f"the metadata of {options.file} is at {server.url}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
