"""JSON and YAML to Python, where a name that is there twice is an error, and no error quotes what may be secret."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from asyncsink_dynamic_kafka.metadata.errors import MetadataError


def parse_json(data: bytes) -> object:
    """:raises MetadataError: it is no JSON, or names something twice"""
    try:
        return json.loads(data, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        # Its attribute doc holds the whole text.
        raise MetadataError(f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise MetadataError(f"no JSON: byte {error.start} is no UTF-8") from None


def parse_yaml(data: bytes) -> object:
    """:raises MetadataError: it is no YAML, or names something twice"""
    import yaml

    try:
        return yaml.load(data, _loader())
    except yaml.MarkedYAMLError as error:
        # Their text quotes the line.
        mark = error.problem_mark
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
        raise MetadataError(f"no YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise MetadataError("no YAML: it holds characters that are not allowed; write it in UTF-8") from None


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise MetadataError(f"the name {key!r} is there twice in one mapping; leave one of them out")
        found[key] = value
    return found


@cache
def _loader() -> Any:
    """A safe loader, in C where it is there: a thousand streams take the other one a second."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            names = [key.value for key, _ in node.value if key.tag == "tag:yaml.org,2002:str"]
            _once((name, None) for name in names)
            found: dict[Any, Any] = super().construct_mapping(node, deep)
            return found

    return Loader
