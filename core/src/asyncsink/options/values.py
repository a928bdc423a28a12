"""From the strings that users write to typed values, and the check of values that programs give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from math import isnan
from typing import Any, TypeVar

from asyncsink.errors import ConfigurationError
from asyncsink.options.fields import OptionField, Unit
from asyncsink.options.names import folded

_Scale = TypeVar("_Scale", int, float)

_QUANTITY = re.compile(r"\s*([+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?|infinity|inf)\s*([a-zµ]*)\s*", re.IGNORECASE)

# The spellings of Flink's TimeUtils and Spark's JavaUtils.
_SECONDS = {
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}

# The spellings of Flink's MemorySize and Spark's ByteUnit; binary multiples in both.
_MOST_BYTES = 1 << 63
_BYTES = {
    **dict.fromkeys(("b", "byte", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kib", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mib", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gib", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tib", "tebibytes"), 1 << 40),
}


def parse_duration(text: str, unit: Unit = "s") -> float:
    """Seconds from ``"5"`` (counted in `unit`), ``"500ms"``, ``"5 s"``, ``"1min"``, ``"2h"``.

    :raises ValueError: says what was expected
    """
    expected = "a duration such as 500ms, 5s, 1min or 2h"
    written, scale = _quantity(text, _SECONDS, unit, expected)
    number = float(written)
    return number * scale if scale >= 1 else number / round(1 / scale)


def parse_size(text: str) -> int:
    """Bytes from ``"4096"``, ``"4mb"``, ``"5 MiB"``, ``"64k"``, ``"1g"``; k, m, g and t are powers of 1024.

    :raises ValueError: says what was expected
    """
    expected = "a size of whole bytes such as 4096, 64k, 4mb or 1g"
    written, scale = _quantity(text, _BYTES, "bytes", expected)
    number = Decimal(written)
    if not -_MOST_BYTES < number < _MOST_BYTES or number * scale != int(number * scale):
        raise ValueError(expected)
    return int(number * scale)


def _quantity(text: str, scales: Mapping[str, _Scale], unit: Unit, expected: str) -> tuple[str, _Scale]:
    match = _QUANTITY.fullmatch(text)
    scale = scales.get((match[2] or unit).lower()) if match else None
    if match is None or scale is None:
        raise ValueError(expected)
    return match[1].replace("_", ""), scale


def parse_value(option: OptionField, spelling: str, text: str, unit: Unit | None) -> Any:
    """The value of an option, written by the user as `text` under the name `spelling`.

    :raises ConfigurationError: names the spelling, the value unless it is secret, and what was expected
    """
    try:
        value = _convert(option, text, unit)
    except ValueError as error:
        raise ConfigurationError(f"option {spelling!r} = {option.shown(text)} must be {error}") from None
    return check_value(option, spelling, value)


def _convert(option: OptionField, text: str, unit: Unit | None) -> Any:
    if option.choices:
        return _choose(option, text)
    if option.kind is str:
        return text
    if option.kind is bool:
        return _boolean(text)
    if unit is not None:
        return parse_size(text) if unit == "bytes" else parse_duration(text, unit)
    try:
        return option.kind(text)
    except ValueError:
        raise ValueError("a whole number" if option.kind is int else "a number") from None


def _choose(option: OptionField, text: str) -> str:
    for choice in option.choices:
        if folded(choice) == folded(text.strip()):
            return choice
    raise ValueError(_one_of(option.choices))


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("true or false")
    return lowered == "true"


def _one_of(choices: tuple[str, ...]) -> str:
    return " or ".join(repr(each) for each in choices)


def check_value(option: OptionField, spelling: str, value: Any) -> Any:
    """The value if it is of the option's type; a whole number becomes a float where the option is one.

    :raises ConfigurationError: names the spelling, the value unless it is secret, and what was expected
    """
    if value is None and option.optional:
        return value
    if option.kind is float and type(value) is int:
        value = float(value)
    if not _has_type(option, value):
        found = "None" if value is None else f"{option.shown(value)} of type {type(value).__name__}"
        raise ConfigurationError(f"option {spelling!r} = {found} must be {_expected(option)}")
    if option.choices and value not in option.choices:
        raise ConfigurationError(f"option {spelling!r} = {option.shown(value)} must be {_one_of(option.choices)}")
    rule = _broken_rule(option, value)
    if rule:
        raise ConfigurationError(f"option {spelling!r} = {option.shown(value)} must be {rule}")
    return dict(value) if option.kind is dict else value


def _broken_rule(option: OptionField, value: Any) -> str:
    if isinstance(value, float) and isnan(value):
        return "a number"
    return "0 or more" if option.unit is not None and value < 0 else ""


def _has_type(option: OptionField, value: Any) -> bool:
    if option.kind is dict:
        return isinstance(value, Mapping) and all(isinstance(each, str) for pair in value.items() for each in pair)
    if isinstance(value, bool):
        return option.kind is bool
    return isinstance(value, option.kind)


def _expected(option: OptionField) -> str:
    if option.unit is not None:
        return "a number of seconds" if option.unit == "s" else "a whole number of bytes"
    words = {
        str: "a string",
        int: "a whole number",
        float: "a number",
        bool: "True or False",
        dict: "a mapping of strings to strings",
    }
    return words[option.kind]
