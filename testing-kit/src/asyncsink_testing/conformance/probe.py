"""Looks at one connector from within a Python of its own: reads a question on stdin as JSON, and answers so.

Run by its path, and with ``-P``: whatever stands in ``sys.modules`` afterwards was imported by the connector and not by
the kit.
"""

from __future__ import annotations

import json
import pickle
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

Answer = dict[str, Any]


class _Watcher(MetaPathFinder):
    """Finds nothing, and remembers who asked first for each of some top-level modules."""

    def __init__(self, watched: Sequence[str]) -> None:
        self.importers = dict.fromkeys(watched, "")

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        top = fullname.partition(".")[0]
        if self.importers.get(top) == "":
            self.importers[top] = _caller()
        return None


def _caller() -> str:
    """The line of code that runs the import which is under way."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


class _Breaker(MetaPathFinder):
    """Lets only the standard library and one module be imported; the rest raises an error of a given kind."""

    def __init__(self, spared: str, error: type[Exception]) -> None:
        self._spared, self._error = spared, error

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname == self._spared or fullname.partition(".")[0] in sys.stdlib_module_names:
            return None
        raise self._error(f"{fullname} cannot be imported: so the conformance kit wants it")


@contextmanager
def _first_finder(finder: MetaPathFinder) -> Iterator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def discovery(connector: str, heavy: Sequence[str]) -> Answer:
    """What finding the connector imports of `heavy`, each with the line that did so."""
    plugins = import_module("asyncsink.plugins")
    before, watcher = set(sys.modules), _Watcher(heavy)
    with _first_finder(watcher):
        info, error = _tried(lambda: plugins.connector_info(connector))
    imported = {name: watcher.importers[name] for name in heavy if name in sys.modules and name not in before}
    known = {} if info is None else {"name": info.name, "sink": info.sink, "options": info.options}
    return {"error": error, "imported": imported, "info": known}


def loading(connector: str) -> Answer:
    """Whether sink and options load, and whether the sink takes these options."""
    plugins = import_module("asyncsink.plugins")
    sink, sink_error = _tried(lambda: plugins.load_sink(connector))
    options, options_error = _tried(lambda: plugins.load_options(connector))
    error = sink_error or options_error
    taken = getattr(sink, "options_type", options)
    if error is None and taken is not options:
        error = f"the sink takes {taken.__qualname__}, and options names {options.__qualname__}"
    return {"error": error}


def typed(path: str) -> Answer:
    """Which packages above the module of an import path carry ``py.typed``."""
    parts = path.partition(":")[0].split(".")
    packages = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return {"package": parts[0], "marked": [each for each in packages if _is_marked(each)]}


def _is_marked(package: str) -> bool:
    spec, _ = _tried(lambda: find_spec(package))
    folders = (spec.submodule_search_locations if spec else None) or ()
    return any(Path(folder, "py.typed").is_file() for folder in folders)


def unpickled(text: str) -> Answer:
    """What comes out of a pickled sink."""
    sink, error = _tried(lambda: pickle.loads(b64decode(text)))
    fingerprint, broken = _tried(lambda: getattr(sink, "fingerprint", None))
    return {"error": error or broken, "kind": f"{type(sink).__module__}:{type(sink).__qualname__}", "of": fingerprint}


def shim(module: str) -> Answer:
    """Whether there is such a module, and what importing it raises by what it meets itself."""
    spec, error = _tried(lambda: find_spec(module))
    raised = {"as it is": _tried(lambda: import_module(module))[1]} if spec else {}
    if spec:
        for kind in (ImportError, RuntimeError):
            with _nothing_imported(), _first_finder(_Breaker(module, kind)):
                raised[kind.__name__] = _tried(lambda: import_module(module))[1]
    return {"found": spec is not None, "error": error, "raised": {what: said for what, said in raised.items() if said}}


@contextmanager
def _nothing_imported() -> Iterator[None]:
    """As if nothing but the standard library had been imported yet."""
    kept: dict[str, ModuleType] = dict(sys.modules)
    for name in kept:
        if name.partition(".")[0] not in sys.stdlib_module_names:
            del sys.modules[name]
    try:
        yield
    finally:
        sys.modules.update(kept)


def _tried(call: Callable[[], Any]) -> tuple[Any, str | None]:
    """What a call gives, or what it raised: a module may even exit, and the answer has to tell."""
    try:
        return call(), None
    except BaseException as error:
        return None, f"{type(error).__name__}: {' '.join(str(error).split())}"


def answered(question: Mapping[str, Any]) -> Answer:
    """Everything about one connector; discovery first, while nothing has been imported."""
    answer: Answer = {}
    connector = question["connector"]
    if connector is not None:
        answer["discovery"] = discovery(connector, question["heavy"])
        answer["loading"] = loading(connector)
        sink = answer["discovery"]["info"].get("sink")
        answer["typed"] = typed(sink) if sink else None
    if question["pickled"] is not None:
        answer["unpickled"] = unpickled(question["pickled"])
    if connector is not None:
        answer["shim"] = shim(question["shim"])
    return answer


def main() -> None:
    """Answer the question on stdin; what the connector prints goes to stderr."""
    with redirect_stdout(sys.stderr):
        answer = answered(json.load(sys.stdin))
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
