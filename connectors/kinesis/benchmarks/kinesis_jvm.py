"""What the JVM does of the same work, in processes that stay warm: printed beside ours, and not judged.

Flink's KinesisStreamsSink itself is not among them where Maven's central repository lacks its jar, as it does for some;
the client that it sends by is.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kinesis_clients import BATCH_ROWS, IN_FLIGHT

from asyncsink_testing.bench_rows import Took
from asyncsink_testing.bench_stub import Stub
from asyncsink_testing.kafka.maven import fetched
from asyncsink_testing.kafka.unavailable import KafkaUnavailable

SDK_VERSION = "2.31.50"
HTTP, SDK = "java.net.http, JSON by hand", f"AWS SDK for Java {SDK_VERSION}"
_PROGRAMS = Path(__file__).with_name("jvm")
_ARTIFACTS = [("software.amazon.awssdk", "kinesis", SDK_VERSION), ("org.slf4j", "slf4j-nop", "1.7.36")]


class Unavailable(Exception):
    """Why a peer cannot be had here."""


@contextmanager
def running_peers(stub: Stub, size: int, batches: int, tell: Callable[[str], None]) -> Iterator[dict[str, Run]]:
    """Those that can be had, by name; of the others `tell` is told why."""
    with ExitStack() as stack:
        peers = {}
        for name, command in ((HTTP, _http), (SDK, _sdk)):
            try:
                peers[name] = stack.enter_context(_running(stub, command(), size, batches))
            except Unavailable as reason:
                tell(f"without {name}: {reason}")
        yield peers


Run = Callable[[], Took]


def _http() -> list[str]:
    return [_java(), str(_PROGRAMS / "HttpPutRecords.java")]


def _sdk() -> list[str]:
    java = _java()
    try:
        jars = fetched(f"aws-sdk-kinesis-{SDK_VERSION}", _ARTIFACTS)
    except KafkaUnavailable as error:
        raise Unavailable(str(error)) from error
    return [java, "-cp", f"{jars}/*", str(_PROGRAMS / "SdkPutRecords.java")]


def _java() -> str:
    """A Java that compiles, for it is given sources."""
    compiler = shutil.which("javac")
    if compiler is None:
        raise Unavailable("no javac in PATH; install a JDK 17 or later")
    return str(Path(compiler).with_name("java"))


@contextmanager
def _running(stub: Stub, command: list[str], size: int, batches: int) -> Iterator[Run]:
    arguments = [stub.url, str(size), str(batches), str(IN_FLIGHT)]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *arguments], stdin=pipe, stdout=pipe, text=True) as jvm:
        asked, answers = jvm.stdin, jvm.stdout
        assert asked is not None
        assert answers is not None
        if answers.readline() != "ready\n":
            raise Unavailable("it did not start; its error is above")

        def run() -> Took:
            before = stub.rows()
            asked.write("\n")
            asked.flush()
            seconds, processor_s = map(float, answers.readline().split())
            if (came := stub.rows() - before) != batches * BATCH_ROWS:
                raise RuntimeError(f"{came} rows came, and {batches * BATCH_ROWS} were sent")
            return Took(seconds, processor_s)

        try:
            yield run
        finally:
            asked.close()
