"""S3 on this machine: moto behind a door that counts requests and misbehaves as told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from threading import Event, Lock, Thread
from typing import Any, Final
from unittest.mock import patch
from uuid import uuid4

from asyncsink_testing.aws.unavailable import AwsUnavailable
from asyncsink_testing.ports import HOST

StartResponse = Callable[..., Any]
"""WSGI's, as far as it is of interest: its first argument is the status."""

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "hush",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": HOST,
}
"""What clients of AWS need beside the URL of the server: none asks for more than some key."""


class HeldRequest:
    """A request that is held at the door, whole, until it is let in; who has sent it may be gone by then."""

    def __init__(self) -> None:
        self._came, self._admitted = Event(), Event()
        self._status: Future[int] = Future()

    def wait_for(self, timeout_s: float) -> bool:
        """Wait until it has come; whether it has."""
        return self._came.wait(timeout_s)

    def admit(self, timeout_s: float) -> int:
        """Let it in, and wait for the status that it is answered.

        :raises TimeoutError: it is not, or has not come
        """
        self._admitted.set()
        return self._status.result(timeout_s)

    def pass_door(self, start: StartResponse) -> StartResponse:
        """Wait until it is let in; by what is returned the answer starts."""
        self._came.set()
        self._admitted.wait()

        def started(status: str, *rest: Any) -> Any:
            self._status.set_result(int(status.split()[0]))
            return start(status, *rest)

        return started


@dataclass
class S3:
    """The server. Clients find it by :attr:`environment`.

    :param answers: what the next requests are answered instead, as an HTTP status and a code
    :param deaf: conditions are not heard, as by stores that imitate S3
    :param held: requests to hold, by method and path
    """

    url: str
    answers: list[tuple[int, str]] = field(default_factory=list)
    deaf: bool = False
    seen: list[str] = field(default_factory=list)
    held: dict[tuple[str, str], HeldRequest] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What the environment of a process holds that is to find it."""
        return {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.url}

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """Let this process, and what it starts, find the server while the block lasts."""
        with patch.dict(os.environ, self.environment):
            yield

    def bucket(self) -> str:
        """A new bucket's URL. The process has to find the server by itself."""
        import s3fs

        name = f"bucket-{uuid4().hex}"
        s3fs.S3FileSystem(use_listings_cache=False, max_concurrency=1).mkdir(name)
        return f"s3a://{name}"

    def hold(self, method: str, path: str) -> HeldRequest:
        """Hold the next such request; the path is bucket and key, as in ``/bucket/folder/name``."""
        return self.held.setdefault((method, path), HeldRequest())

    @contextmanager
    def requests(self) -> Iterator[list[str]]:
        """The methods of the requests that come within the block."""
        self.seen.clear()
        yield self.seen


class _Door:
    """What every request comes to first."""

    def __init__(self, s3: S3, app: Callable[..., Iterable[bytes]]) -> None:
        self._s3, self._app = s3, app
        # moto looks for the object and then puts it: S3 does both at once.
        self._at_once = Lock()

    def __call__(self, environ: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        self._s3.seen.append(method)
        held = self._s3.held.pop((method, environ["PATH_INFO"]), None)
        if held is not None:
            environ["wsgi.input"] = BytesIO(_body(environ))
            start = held.pass_door(start)
        return self._answer(environ, start)

    def _answer(self, environ: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        if self._s3.answers:
            status, code = self._s3.answers.pop(0)
            _body(environ)
            start(f"{status} Told", [("Content-Type", "application/xml")])
            return [f"<Error><Code>{code}</Code><Message>told so</Message></Error>".encode()]
        if self._s3.deaf:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        with self._at_once:
            return self._app(environ, start)


def _body(environ: dict[str, Any]) -> bytes:
    body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return body


@contextmanager
def serve() -> Iterator[S3]:
    """A server for as long as the block lasts.

    :raises AwsUnavailable: moto's server is not installed
    """
    try:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server
    except ImportError:
        raise AwsUnavailable("S3 is moto's server: pip install 'asyncsink-testing[s3]'") from None
    door: _Door
    server = make_server(HOST, 0, lambda environ, start: door(environ, start), threaded=True)
    s3 = S3(f"http://{HOST}:{server.server_port}")
    door = _Door(s3, DomainDispatcherApplication(create_backend_app))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield s3
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
