"""Letters as bytes, in each format."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, Literal, get_args, get_type_hints

from asyncsink.dead_letters.letter import SCHEMA_VERSION, DeadLetter, DeadLetterReason
from asyncsink.errors import ConfigurationError, DeadLetterError

Format = Literal["jsonl", "parquet"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""Also the suffixes of the files."""

NAMES: Final = tuple(each.name for each in fields(DeadLetter))
"""The names of a letter's fields, in order."""

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    name: tuple(get_args(hint)) or (str if hint is DeadLetterReason else hint,)
    for name, hint in get_type_hints(DeadLetter).items()
}


def encoder(format: Format) -> Callable[[Sequence[DeadLetter]], bytes]:
    """What makes a whole file, or for ``jsonl`` a part of one, of letters.

    :raises ConfigurationError: the format needs pyarrow, which is not installed
    """
    if format == "jsonl":
        return to_json_lines
    to_parquet: Callable[[Sequence[DeadLetter]], bytes] = parquet_module().to_parquet
    return to_parquet


def parquet_module() -> Any:
    """:mod:`asyncsink.arrow.dead_letters`, which nothing imports before it is needed.

    :raises ConfigurationError: pyarrow is not installed
    """
    try:
        from asyncsink.arrow import dead_letters
    except ImportError as error:
        raise ConfigurationError(
            f"dead letters of format 'parquet' need pyarrow and numpy, which do not import ({error}); run "
            "pip install 'asyncsink-core[arrow]', or use format='jsonl', which needs nothing"
        ) from error
    return dead_letters


def to_json_lines(letters: Iterable[DeadLetter]) -> bytes:
    """One line of JSON in ASCII a letter; bytes are base64, nulls are kept."""
    return b"".join(_line(letter) for letter in letters)


def _line(letter: DeadLetter) -> bytes:
    values = {name: getattr(letter, name) for name in NAMES}
    if letter.entry is not None:
        values["entry"] = b64encode(letter.entry).decode("ascii")
    return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"


def from_json_line(line: bytes, where: str) -> DeadLetter:
    """The letter of a line.

    :param where: names file and line in errors
    :raises DeadLetterError: the line is no letter, or one of a newer schema
    """
    try:
        values = json.loads(line)
        if isinstance(values, dict) and isinstance(values.get("entry"), str):
            values["entry"] = b64decode(values["entry"], validate=True)
    except (ValueError, RecursionError) as error:
        raise _damaged(where, f"it is not JSON with base64 ({type(error).__name__})") from error
    return from_values(values, where)


def from_values(values: Any, where: str) -> DeadLetter:
    """The letter with `values` by name; what a later release of the same schema has added is left out.

    :raises DeadLetterError: a value is missing or of the wrong type, or the schema is newer than this release
    """
    version = values.get("schema_version") if isinstance(values, Mapping) else None
    if not isinstance(version, int) or version < 1:
        raise _damaged(where, "it has no schema_version")
    if version > SCHEMA_VERSION:
        raise DeadLetterError(
            f"the dead letter in {where} has schema_version {version}, but this release of asyncsink-core reads "
            f"versions up to {SCHEMA_VERSION}; upgrade asyncsink-core"
        )
    for name, kinds in _KINDS.items():
        value = values.get(name)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise _damaged(where, f"{name} is of type {type(value).__name__}")
    if values["reason"] not in set(DeadLetterReason):
        raise _damaged(where, f"its reason {values['reason']!r} is unknown")
    kept = {name: values.get(name) for name in NAMES} | {"reason": DeadLetterReason(values["reason"])}
    return DeadLetter(**kept)


def _damaged(where: str, why: str) -> DeadLetterError:
    return DeadLetterError(f"the dead letter in {where} is damaged: {why}; mend or remove it, then read the file again")
