"""The router that an option names, for one writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink_dynamic_kafka.routing.mirror import MirrorStreamRouter
from asyncsink_dynamic_kafka.routing.names import checked_router
from asyncsink_dynamic_kafka.routing.round_robin import RoundRobinReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.sticky import StickyReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.weighted import WeightedReconcilableStreamRouter

_STANDARD: Final[Mapping[str, Callable[[Mapping[str, int]], ReconcilableStreamRouter]]] = {
    "round-robin": lambda _: RoundRobinReconcilableStreamRouter(),
    "sticky": lambda _: StickyReconcilableStreamRouter(),
    "weighted": WeightedReconcilableStreamRouter,
    "mirror": lambda _: MirrorStreamRouter(),
}


def make_router(text: str, weights: Mapping[str, int]) -> ReconcilableStreamRouter:
    """A router by name, or by the import path of a class, which is made without arguments.

    :param weights: of the router ``weighted``, by the name of the cluster
    :raises ConfigurationError: it is neither, or does not load
    """
    name = checked_router(text)
    return _STANDARD[name](weights) if name in _STANDARD else _loaded(name)


def _loaded(path: str) -> ReconcilableStreamRouter:
    found: Any = load_given("option 'router' =", path)
    if not (isinstance(found, type) and issubclass(found, ReconcilableStreamRouter)):
        raise ConfigurationError(
            f"option 'router' = {path!r} names no router; derive a class from "
            "asyncsink_dynamic_kafka.ReconcilableStreamRouter and name that"
        )
    try:
        return found()
    except Exception as error:
        raise ConfigurationError(
            f"option 'router' = {path!r} cannot be made: {type(error).__name__}: {error}; its class must need no "
            "arguments and define route and reconcile"
        ) from error
