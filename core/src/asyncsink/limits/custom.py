"""A user's own strategy, named by its import path and loaded where the writer runs."""

from __future__ import annotations

from typing import Any

from asyncsink.errors import ConfigurationError
from asyncsink.limits.strategy import RateLimitingStrategy


def check_path(path: object, args: tuple[tuple[str, Any], ...]) -> None:
    """Check what can be checked without importing anything.

    :raises ConfigurationError: the path is none, or an argument cannot be compared
    """
    module, _, name = path.partition(":") if isinstance(path, str) else ("", "", "")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise ConfigurationError(f"rate_limit {path!r} is no import path; write it as 'package.module:Class'")
    for key, value in args:
        try:
            hash(value)
        except TypeError:
            raise ConfigurationError(
                f"rate_limit {path!r}: argument {key!r} is of type {type(value).__name__}, which has no hash; "
                "writers share a limit by comparing it, so give a value that cannot change, such as a tuple"
            ) from None


def make_custom(path: str, args: dict[str, Any]) -> RateLimitingStrategy:
    """An instance of the class that `path` names.

    :raises ConfigurationError: it does not load, is no :class:`RateLimitingStrategy` or refuses the arguments
    """
    # Here and not above: finding connectors is a large module, and nobody else in a configuration needs it.
    from asyncsink.plugins import load_given

    found = load_given("rate_limit", path)
    if not (isinstance(found, type) and issubclass(found, RateLimitingStrategy)):
        raise ConfigurationError(
            f"rate_limit {path!r} is no subclass of RateLimitingStrategy; "
            "derive the class from asyncsink.RateLimitingStrategy"
        )
    try:
        return found(**args)
    except Exception as error:
        given = ", ".join(args) or "none"
        raise ConfigurationError(
            f"rate_limit {path!r} refuses its arguments (given: {given}): {type(error).__name__}: {error}; "
            "give RateLimit.custom(path, **args) what its constructor takes"
        ) from error
