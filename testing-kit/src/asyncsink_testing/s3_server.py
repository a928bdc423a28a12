"""S3 on this machine: moto behind a door that counts requests and misbehaves as told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any, Final
from uuid import uuid4

from asyncsink_testing.aws.unavailable import AwsUnavailable
from asyncsink_testing.ports import HOST

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "hush",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": HOST,
}
"""What clients of AWS need beside the URL of the server: none asks for more than some key."""


@dataclass
class S3:
    """The server. Clients find it by :attr:`environment`.

    :param answers: what the next requests are answered instead, as an HTTP status and a code
    :param deaf: conditions are not heard, as by stores that imitate S3
    """

    url: str
    answers: list[tuple[int, str]] = field(default_factory=list)
    deaf: bool = False
    seen: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What the environment of a process holds that is to find it."""
        return {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.url}

    def bucket(self) -> str:
        """A new bucket's URL. The process has to find the server by itself."""
        import s3fs

        name = f"bucket-{uuid4().hex}"
        s3fs.S3FileSystem(use_listings_cache=False, max_concurrency=1).mkdir(name)
        return f"s3a://{name}"

    @contextmanager
    def requests(self) -> Iterator[list[str]]:
        """The methods of the requests that come within the block."""
        self.seen.clear()
        yield self.seen


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
    app = DomainDispatcherApplication(create_backend_app)
    # moto looks for the object and then puts it: S3 does both at once.
    at_once = Lock()

    def door(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        s3.seen.append(environ["REQUEST_METHOD"])
        if s3.answers:
            status, code = s3.answers.pop(0)
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(f"{status} Told", [("Content-Type", "application/xml")])
            return [f"<Error><Code>{code}</Code><Message>told so</Message></Error>".encode()]
        if s3.deaf:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        with at_once:
            answer: Iterable[bytes] = app(environ, start)
            return answer

    server = make_server(HOST, 0, door, threaded=True)
    s3 = S3(f"http://{HOST}:{server.server_port}")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield s3
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
