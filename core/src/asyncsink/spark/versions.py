"""Whether the Python of a task has what the driver's has, asked before anything of a connector is loaded there."""

from __future__ import annotations

import pickle
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from pyspark import cloudpickle

from asyncsink.errors import ConnectorLoadError
from asyncsink.plugins import available

CORE: Final = "asyncsink-core"


class Need(NamedTuple):
    """A distribution that the driver's Python has, with the version that it has there."""

    distribution: str
    module: str
    version: str


def packed(writer: object, state: Mapping[str, Any], sink: object) -> tuple[Callable[..., Any], tuple[bytes]]:
    """What ``writer.__reduce__`` returns, so that a writer which cannot be unpickled says why.

    A pickle names the modules of what it holds. Where one is missing, Spark's worker fails with a bare
    ModuleNotFoundError before any code of ours has run, and where one is of another release it may fail in any way. So
    the writer travels as bytes, beside the versions that it needs.

    :param state: what becomes the attributes of the unpickled writer
    :param sink: the connector's, whose distribution is needed
    """
    needs = [tuple(each) for each in needed(type(sink).__module__.partition(".")[0])]
    payload = _pickled((type(writer), dict(state)))
    return pickle.loads, (_pickled(_Arrival(needs, payload)),)


def unpacked(needs: Sequence[tuple[str, str, str]], payload: bytes) -> object:
    """The writer that was packed.

    :raises ConnectorLoadError: this Python does not have what it needs, or cannot load it
    """
    check([Need(*each) for each in needs])
    try:
        kind, state = pickle.loads(payload)
    except Exception as error:
        raise ConnectorLoadError(
            f"what the driver's Python has sent cannot be loaded by the Python of a task: {_here()}: "
            f"{type(error).__name__}: {' '.join(str(error).split())}; {_remedy([])}"
        ) from error
    writer = kind.__new__(kind)
    writer.__dict__.update(state)
    return writer


@cache
def needed(package: str) -> tuple[Need, ...]:
    """The distribution of the kernel, and the one of the connector whose sink is in `package`.

    What is on the path without being installed, as a program's own sink is, has no version to compare.
    """
    modules = {CORE: "asyncsink"}
    for each in available():
        if each.distribution and each.package == package:
            modules[each.distribution] = package
    versions = {distribution: _version(distribution) for distribution in modules}
    return tuple(Need(name, module, versions[name] or "") for name, module in modules.items() if versions[name])


def check(needs: Sequence[Need]) -> None:
    """Compare with what is installed here. A module that is there without being installed is taken as it is.

    :raises ConnectorLoadError: a distribution is missing, or here in another version
    """
    wrong = []
    for each in needs:
        found = _version(each.distribution)
        if found is None and find_spec(each.module) is None:
            wrong.append((each, f"{each.distribution} is not installed (driver: {each.version})"))
        elif found is not None and found != each.version:
            wrong.append((each, f"{each.distribution} is {found} (driver: {each.version})"))
    if wrong:
        raise ConnectorLoadError(
            f"the Python of a task is not as the driver's: {_here()}: {' and '.join(text for _, text in wrong)}; "
            f"{_remedy([each for each, _ in wrong])}"
        )


class _Arrival:
    """Pickled as a call of a function that travels along."""

    def __init__(self, needs: Sequence[tuple[str, ...]], payload: bytes) -> None:
        self._needs = needs
        self._payload = payload

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        core = [Need(*each) for each in self._needs if each[0] == CORE]
        told = f"{CORE} is {{found}} (driver: {core[0].version if core else 'on its path'}); {_remedy(core)}"
        return _traveller(), (self._needs, self._payload, told)


def _traveller() -> Callable[..., object]:
    """A function that is no module's attribute, so that its code is pickled and not its name.

    It runs where nothing of asyncsink is installed, and loads whatever it uses itself.
    """

    def arrive(needs: Sequence[tuple[str, str, str]], payload: bytes, told: str) -> object:
        try:
            from asyncsink.spark.versions import unpacked
        except ImportError as error:
            import socket
            import sys
            from importlib.metadata import distributions

            found = next((each.version for each in distributions(name="asyncsink-core")), "not installed")
            raise ImportError(
                f"the Python of a task cannot import asyncsink: host {socket.gethostname()}, interpreter "
                f"{sys.executable}: {error}; {told.format(found=found)}"
            ) from error
        return unpacked(needs, payload)

    return arrive


def _pickled(what: object) -> bytes:
    """As Spark pickles: a class or function of the program goes whole."""
    pickled: bytes = cloudpickle.dumps(what)  # type: ignore[no-untyped-call]
    return pickled


@cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _here() -> str:
    return f"host {socket.gethostname()}, interpreter {sys.executable}"


def _remedy(missing: Sequence[Need]) -> str:
    install = " ".join(f"{each.distribution}=={each.version}" for each in missing) or "what the driver has"
    return (
        f"install {install} for that interpreter, or send the driver's environment along by spark.archives and let "
        "PYSPARK_PYTHON name the Python in it"
    )
