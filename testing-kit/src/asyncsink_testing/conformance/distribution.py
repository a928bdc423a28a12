"""What a fresh Python sees of the connector under test and of the distribution that brings it."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from asyncsink.errors import AsyncSinkError
from asyncsink.options.names import folded
from asyncsink.plugins import AvailableConnector, available
from asyncsink_testing.conformance.check import ConformanceError, NotApplicableError
from asyncsink_testing.conformance.trial import Trial

HEAVY = ("pyspark", "pyarrow", "numpy", "pandas")
"""What no connector may import to be found, beside its own client library."""

_SCRIPT = Path(__file__).with_name("probe.py")
_TIMEOUT_S = 50.0


@dataclass(frozen=True, slots=True)
class Probed:
    """What :mod:`~asyncsink_testing.conformance.probe` answered of a connector.

    :param answer: by the names of its functions; without those about a distribution if there is none
    :param fingerprint: of the sink that was pickled, None for sinks that have none
    :param unpicklable: why the sink could not be made or pickled here
    """

    answer: dict[str, Any]
    fingerprint: str | None
    unpicklable: str | None


_probed: dict[object, Probed] = {}


def is_registered(connector: str) -> bool:
    """Whether this program has registered the connector, so that no other process knows it."""
    return any(each.entry_point is None for each in _found(connector))


def _found(connector: str) -> list[AvailableConnector]:
    return [each for each in available() if folded(each.name) == folded(connector)]


def providers(connector: str) -> list[AvailableConnector]:
    """The installed distributions that provide a connector of this name.

    :raises NotApplicableError: it is registered by this program
    """
    if is_registered(connector):
        raise NotApplicableError("it is registered by this program, so there is no distribution to look at")
    return _found(connector)


def distribution_of(connector: str) -> Distribution:
    """The one that provides the connector.

    :raises NotApplicableError: the connector is registered by this program
    :raises ConformanceError: nothing provides it
    """
    for each in providers(connector):
        if each.entry_point is not None and each.entry_point.dist is not None:
            return each.entry_point.dist
    raise ConformanceError(
        f"no distribution has an entry point {connector!r} in the group 'asyncsink': declare it under "
        "[project.entry-points.asyncsink] in pyproject.toml, and install the distribution again"
    )


def shim_of(connector: str) -> str:
    """The top-level module by which Spark finds the connector."""
    return f"pyspark_asyncsink_{connector.replace('-', '_')}"


def core_ranges(distribution: Distribution) -> list[str]:
    """The versions of asyncsink-core that a distribution asks for, without extras and markers; one for each mention."""
    found = [_CORE.match(each) for each in distribution.requires or []]
    return [each[1].strip(" ()") for each in found if each]


_CORE = re.compile(r"asyncsink[-_.]+core\b(?![-_.])\s*(?:\[[^\]]*\])?([^;]*)", re.IGNORECASE)


def probed(trial: Trial) -> Probed:
    """Ask a fresh Python, once for each connector: starting one takes most of a second."""
    connector = trial.subject.connector
    installed = not is_registered(connector)
    key = connector, installed, tuple(sys.path), trial.capabilities.client_modules
    if key not in _probed:
        _probed[key] = _ask(trial, connector if installed else None)
    return _probed[key]


def _ask(trial: Trial, connector: str | None) -> Probed:
    pickled, fingerprint, unpicklable = None, None, None
    try:
        sink = trial.sink()
        fingerprint = getattr(sink, "fingerprint", None)
        pickled = b64encode(pickle.dumps(sink)).decode()
    except Exception as error:
        failed = "could not be made" if isinstance(error, AsyncSinkError) else "does not pickle"
        unpicklable = f"the sink {failed}: {type(error).__name__}: {error}"
    question = {
        "connector": connector,
        "heavy": [*HEAVY, *trial.capabilities.client_modules],
        "pickled": pickled,
        "shim": shim_of(trial.subject.connector),
    }
    return Probed(_answer(question), fingerprint, unpicklable)


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    # A connector of a test may stand where only this process looks.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(each).absolute()) for each in sys.path)}
    command = [sys.executable, "-P", str(_SCRIPT)]
    try:
        done = subprocess.run(
            command, input=json.dumps(question), env=environ, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ConformanceError(
            f"a fresh Python that imports the connector had not ended after {_TIMEOUT_S:g} s: look for code that waits "
            "when its modules are imported"
        ) from error
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise ConformanceError(f"a fresh Python that imports the connector ended with {done.returncode}: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
