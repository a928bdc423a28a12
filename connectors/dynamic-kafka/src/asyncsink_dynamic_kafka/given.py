"""What a program gives a sink in place of options: objects, and collections of ids."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from hashlib import sha256
from typing import Any

from asyncsink.errors import ConfigurationError


def joined(stream_ids: Collection[str]) -> str:
    """Streams as the option writes them.

    :raises ConfigurationError: one is no string, or has a comma or a semicolon in it
    """
    if isinstance(stream_ids, str):
        return stream_ids
    for each in stream_ids:
        if not isinstance(each, str):
            raise ConfigurationError(
                f"option 'streamIds' names stream {each!r} of type {type(each).__name__}; write its id as a string"
            )
        if "," in each or ";" in each:
            raise ConfigurationError(
                f"option 'streamIds' names stream {each!r}; an id has no comma and no semicolon: subscribe to it by a "
                "streamPattern"
            )
    return ",".join(sorted(stream_ids))


def object_or_text(name: str, given: Any, kind: type, values: dict[str, Any]) -> Any:
    """The object, if one is given; what is text becomes one of the options' `values`.

    :raises ConfigurationError: it is neither text nor of this kind
    """
    if isinstance(given, str):
        values[name] = given
        return None
    return checked(name, given, kind)


def checked(name: str, given: Any, kind: type) -> Any:
    """:raises ConfigurationError: something is given that is not of this kind"""
    if given is None or isinstance(given, kind):
        return given
    raise ConfigurationError(
        f"argument {name!r} is of type {type(given).__name__}; give an instance of {kind.__name__}"
    )


def given_twice(name: str, text: str | None) -> ConfigurationError:
    """The error of an option beside an object that stands for it."""
    return ConfigurationError(
        f"option {name!r} = {text!r} is given, and an object in its place too; leave one of them out"
    )


def digest(given: object) -> str:
    """Equal for equal objects where they can be pickled, as under Spark they are."""
    kind = f"{type(given).__module__}.{type(given).__qualname__}"
    try:
        return f"{kind}:{sha256(pickle.dumps(given)).hexdigest()[:16]}"
    except Exception:
        # Of a class that a notebook has, say; another object is then another service.
        return f"{kind}#{id(given)}"
