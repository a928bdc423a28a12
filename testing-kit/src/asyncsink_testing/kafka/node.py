"""One broker: its settings, its folder, and the process that runs it."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from asyncsink_testing.kafka.java import jars, java
from asyncsink_testing.ports import HOST

_START_S = 60.0
_STOP_S = 20.0
_POLL_S = 0.05
_ASKING_S = 5.0
_API_VERSIONS = 18
_LOGGING = """\
appenders = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def run_tool(class_name: str, *arguments: str) -> str:
    """Run one of Kafka's command line tools by the name of its class, and return what it prints.

    :raises RuntimeError: it failed; the message has what it said
    """
    options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars()}/*"]
    done = subprocess.run([java(), *options, class_name, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{class_name} ended with {done.returncode}: {(done.stdout + done.stderr)[-800:]}")
    return done.stdout


class BrokerNode:
    """A broker that is controller too, in a process of its own, on the same ports whenever it starts.

    :param number: its id
    :param ports: of its listeners, by protocol
    :param properties: all of ``server.properties``
    :param folder: its own; holds the settings, the data and ``broker.log``
    """

    def __init__(
        self,
        number: int,
        ports: Mapping[str, int],
        properties: Mapping[str, str],
        folder: Path,
        jvm_options: Sequence[str],
    ) -> None:
        self.number, self.ports = number, dict(ports)
        self._folder, self._jvm_options = folder, list(jvm_options)
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = folder / "server.properties"
        self._settings.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._logging = folder / "log4j2.properties"
        self._logging.write_text(_LOGGING)
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self._process is not None else None

    def format(self, cluster_id: str, scram_users: Sequence[str]) -> None:
        """Prepare the folder of the data, once."""
        users = [part for user in scram_users for part in ("--add-scram", user)]
        # In one word: an id may begin with a dash.
        run_tool("kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(self._settings), *users)

    def launch(self) -> None:
        """Start the process; :meth:`wait_until_ready` says when clients may come."""
        if self._process is not None:
            raise RuntimeError(f"broker {self.number} runs already")
        options = [f"-Dlog4j2.configurationFile={self._logging}", *self._jvm_options]
        command = [java(), *options, "-cp", f"{jars()}/*", "kafka.Kafka", str(self._settings)]
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        # The broker itself does not see that its parent has died. The watcher's input ends then.
        watching = f"read -r _; kill -9 {self._process.pid}"
        self._watcher = subprocess.Popen(["/bin/sh", "-c", watching], stdin=subprocess.PIPE)

    def wait_until_ready(self) -> None:
        """Return when the broker answers requests, which it does when the controllers have let it in.

        :raises RuntimeError: it ended, or did not answer within a minute; the message has the end of its log
        """
        deadline_s = time.monotonic() + _START_S
        while not _answers(self.ports["PLAINTEXT"]):
            code = self._process.poll() if self._process is not None else None
            if code is not None or time.monotonic() > deadline_s:
                self.kill()
                what = f"ended with {code}" if code is not None else f"was not ready within {_START_S:g} s"
                raise RuntimeError(f"broker {self.number} {what}: {self.log()[-1500:]}")
            time.sleep(_POLL_S)

    def log(self) -> str:
        """What it has said, from WARN up."""
        path = self._folder / "broker.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def kill(self) -> None:
        """SIGKILL: as a machine that loses its power, but for what the kernel still writes."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM: hand over what it leads, write everything, end. One that does not end in time is killed."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP: connections stay, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT, after :meth:`pause`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            raise RuntimeError(f"broker {self.number} does not run")
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        process, watcher = self._process, self._watcher
        self._process = self._watcher = None
        if watcher is not None:
            watcher.kill()
            watcher.communicate()
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    """Whether a broker answers ``ApiVersions``: it accepts connections long before."""
    request = struct.pack(">hhih", _API_VERSIONS, 0, 1, -1)
    try:
        with socket.create_connection((HOST, port), _ASKING_S) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return len(connection.recv(4)) == 4
    except OSError:
        return False
