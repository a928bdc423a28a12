"""Which connectors there are, and how one of them is found.

A connector's distribution has an entry point in the group ``asyncsink``: its name is the connector's, its value a light
module that implements the one hook::

    from asyncsink.plugins import ConnectorInfo, hookimpl

    @hookimpl
    def asyncsink_connector() -> ConnectorInfo:
        return ConnectorInfo("toy", "asyncsink_toy.sink:ToySink", "asyncsink_toy.options:ToyOptions", api_version=1)

Only the connector that is asked for is loaded. ``ASYNCSINK_DISABLED=a,b`` in the environment hides some of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import pluggy

from asyncsink.errors import ConfigurationError, ConnectorLoadError, ConnectorNotFoundError
from asyncsink.options.names import did_you_mean, folded
from asyncsink.options.sections import ConnectorOptions
from asyncsink.sink import Sink

GROUP: Final = "asyncsink"
"""The group of the entry points, and the project that pluggy's markers belong to."""

API_VERSION: Final = 1
"""Moves only when the contract between kernel and connectors breaks."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """What a connector says of itself without being imported.

    :param name: the connector's name, the same as its entry point's
    :param sink: import path of its :class:`~asyncsink.Sink`, such as ``"asyncsink_http.sink:HttpSink"``
    :param options: import path of its :class:`~asyncsink.ConnectorOptions`
    :param api_version: the :data:`API_VERSION` it was written for
    :param guarantees: what it can deliver, the default first
    :param short_names: other names by which it may be asked for
    """

    name: str
    sink: str
    options: str
    api_version: int
    guarantees: tuple[str, ...] = ("at-least-once",)
    short_names: tuple[str, ...] = ()


class ConnectorHooks:
    """The hooks of the project ``asyncsink``: one."""

    @hookspec(firstresult=True)
    def asyncsink_connector(self) -> ConnectorInfo | None:
        """Say what the connector is; import neither client library nor PySpark for it."""


@dataclass(frozen=True, slots=True)
class AvailableConnector:
    """A connector that is installed, or registered by the program: then it has no distribution."""

    name: str
    distribution: str | None = None
    version: str | None = None
    disabled: bool = False
    entry_point: EntryPoint | None = None

    @property
    def package(self) -> str | None:
        """The top-level package in which its hook is found; None if the program has registered it."""
        return None if self.entry_point is None else self.entry_point.module.partition(".")[0]

    @property
    def origin(self) -> str:
        """The distribution with its version, as messages name it."""
        return f"{self.distribution} {self.version}" if self.distribution else "this program"

    @property
    def remedy(self) -> str:
        """What helps against a broken installation, as the end of a sentence; empty if nothing is installed."""
        if self.distribution is None:
            return ""
        return f"; reinstall {self.distribution} or disable it by ASYNCSINK_DISABLED={self.name}"

    def __str__(self) -> str:
        return f"connector {self.name!r} from {self.origin}"


_registered: dict[str, tuple[str, object]] = {}


def register(plugin: object, name: str) -> None:
    """Make a connector known for the life of the process, for tests and notebooks; it hides an installed one.

    :param plugin: a module or an object that implements the hook
    :raises ConfigurationError: the name is registered already
    """
    if folded(name) in _registered:
        raise ConfigurationError(f"connector {name!r} is registered already; call unregister({name!r}) first")
    _registered[folded(name)] = (name, plugin)


def unregister(name: str) -> None:
    """Take back :func:`register`.

    :raises ConfigurationError: nothing is registered under that name
    """
    if _registered.pop(folded(name), None) is None:
        raise ConfigurationError(f"connector {name!r} is not registered, so it cannot be unregistered")


def available() -> tuple[AvailableConnector, ...]:
    """Every connector that is installed or registered, by name. Imports nothing."""
    disabled = {folded(each.strip()) for each in os.environ.get("ASYNCSINK_DISABLED", "").split(",")}
    found = [AvailableConnector(name, disabled=key in disabled) for key, (name, _) in _registered.items()]
    for point in entry_points(group=GROUP):
        if folded(point.name) not in _registered:
            distribution, version = (point.dist.name, point.dist.version) if point.dist else (None, None)
            hidden = folded(point.name) in disabled
            found.append(AvailableConnector(point.name, distribution, version, hidden, point))
    return tuple(sorted(found, key=lambda each: (each.name, each.distribution or "")))


def connector_info(name: str) -> ConnectorInfo:
    """What the connector `name` says of itself; ``-``, ``_`` and case do not count.

    :raises ConnectorNotFoundError: it is not installed, or disabled
    :raises ConnectorLoadError: it does not load, is provided twice, or speaks another API version
    """
    connectors = available()
    found = [each for each in connectors if folded(each.name) == folded(name)]
    if not found:
        return _by_short_name(name, connectors)
    if found[0].disabled:
        raise ConnectorNotFoundError(f"connector {name!r} is disabled by the environment variable ASYNCSINK_DISABLED")
    if len(found) > 1:
        origins = " and ".join(each.origin for each in found)
        raise ConnectorLoadError(f"connector {name!r} is provided by {origins}; uninstall all but one of them")
    return _load_info(found[0])


def load_sink(name: str) -> type[Sink[Any, Any, Any, Any]]:
    """The sink class of the connector `name`; this imports its client library, if the sink does.

    :raises ConnectorNotFoundError: it is not installed, or disabled
    :raises ConnectorLoadError: it does not load
    """
    return sink_of(connector_info(name))


def sink_of(info: ConnectorInfo) -> type[Sink[Any, Any, Any, Any]]:
    """Like :func:`load_sink`, for who has asked for the connector already: to look through what is installed takes ms.

    :raises ConnectorLoadError: it does not load
    """
    return _load_class(info, "sink", Sink)


def sink_with(info: ConnectorInfo, options: Mapping[str, str]) -> Sink[Any, Any, Any, Any]:
    """A sink of a connector, made of the strings that a user gives.

    :raises ConnectorLoadError: it does not load, or its sink cannot be made of options
    :raises ConfigurationError: an option is unknown, missing or breaks its rule
    """
    kind = sink_of(info)
    from_options: Callable[[Mapping[str, str]], Sink[Any, Any, Any, Any]] | None = getattr(kind, "from_options", None)
    if from_options is None:
        raise ConnectorLoadError(
            f"connector {info.name!r} has the sink {kind.__qualname__}, which cannot be made of options: it has "
            "no from_options; use it from a program"
        )
    return from_options(options)


def load_options(name: str) -> type[ConnectorOptions]:
    """The options class of the connector `name`; raises as :func:`load_sink` does."""
    return _load_class(connector_info(name), "options", ConnectorOptions)


def load_object(path: str) -> Any:
    """The object that ``"package.module:Name"`` names.

    :raises ConfigurationError: the path is not of that form, its module fails to import or lacks the name
    """
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise ConfigurationError(f"{path!r} is no import path; write it as 'package.module:Name'")
    try:
        found: Any = import_module(module)
    except Exception as error:
        raise ConfigurationError(f"{path!r} failed to import: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"module {module!r} has no {name!r}, which {path!r} names")
        found = getattr(found, part)
    return found


def load_given(what: str, path: str) -> Any:
    """:func:`load_object` of a path that a user has given for something that runs where the writers do.

    :param what: begins the error, such as ``"rate_limit"``
    :raises ConfigurationError: as :func:`load_object` does, with the remedy
    """
    try:
        return load_object(path)
    except ConfigurationError as error:
        remedy = "install or mend it where the writers run, which is on the workers under Spark"
        raise ConfigurationError(f"{what} {error}; {remedy}") from (error.__cause__ or error)


def _by_short_name(name: str, connectors: tuple[AvailableConnector, ...]) -> ConnectorInfo:
    for info in _loadable(connectors):
        if folded(name) in map(folded, info.short_names):
            return info
    usable = [each for each in connectors if not each.disabled]
    installed = ", ".join(f"{each.name} ({each.origin})" for each in usable) or "none"
    hint = did_you_mean(name, [each.name for each in usable]) if usable else ""
    nearest = f"; {hint}" if hint.startswith("did") else ""
    raise ConnectorNotFoundError(
        f"connector {name!r} is not installed{nearest} (installed: {installed}); "
        f"to install it: pip install asyncsink-{name.lower().replace('_', '-')}"
    )


def _loadable(connectors: tuple[AvailableConnector, ...]) -> Iterator[ConnectorInfo]:
    for connector in connectors:
        if connector.disabled:
            continue
        try:
            yield _load_info(connector)
        except ConnectorLoadError:
            # Only its short names are sought here; asking for it by its own name, or the doctor, tells what is wrong.
            continue


def _load_info(connector: AvailableConnector) -> ConnectorInfo:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(ConnectorHooks)
    try:
        plugin = connector.entry_point.load() if connector.entry_point else _registered[folded(connector.name)][1]
        manager.register(plugin, connector.name)
        manager.check_pending()
        info = manager.hook.asyncsink_connector()
    except Exception as error:
        raise ConnectorLoadError(
            f"{connector} failed to import: {type(error).__name__}: {error}{connector.remedy}"
        ) from error
    _check_info(connector, info)
    checked: ConnectorInfo = info
    return checked


def _check_info(connector: AvailableConnector, info: object) -> None:
    if not isinstance(info, ConnectorInfo):
        raise ConnectorLoadError(
            f"{connector} gave {info!r} for a ConnectorInfo; its entry point must name a module with a function "
            "asyncsink_connector that is decorated with @hookimpl and returns one"
        )
    if info.api_version > API_VERSION:
        raise ConnectorLoadError(
            f"{connector} speaks API version {info.api_version}, asyncsink-core {API_VERSION}: the connector is newer; "
            "upgrade asyncsink-core"
        )
    if info.api_version < API_VERSION:
        raise ConnectorLoadError(
            f"{connector} speaks API version {info.api_version}, asyncsink-core {API_VERSION}: the connector is older; "
            f"upgrade {connector.distribution or 'it'}"
        )
    if folded(info.name) != folded(connector.name):
        raise ConnectorLoadError(f"{connector} calls itself {info.name!r}; give its entry point the same name")


def _load_class(info: ConnectorInfo, field: str, base: type[Any]) -> type[Any]:
    path = getattr(info, field)
    try:
        found = load_object(path)
    except ConfigurationError as error:
        connector = _available(info)
        text = f"{connector} failed to load: its {field} {error}{connector.remedy}"
        raise ConnectorLoadError(text) from error.__cause__ or error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConnectorLoadError(
            f"{_available(info)} failed to load: its {field} {path!r} is no subclass of {base.__name__}"
        )
    return found


def _available(info: ConnectorInfo) -> AvailableConnector:
    """Where a connector comes from, for messages."""
    return next(each for each in available() if folded(each.name) == folded(info.name))
