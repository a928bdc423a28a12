"""From the options that a user gives Spark to the sections that a sink reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncsink.errors import ConfigurationError
from asyncsink.options.fields import Alias, OptionField, option_fields
from asyncsink.options.names import did_you_mean, folded, is_near
from asyncsink.options.values import parse_value

if TYPE_CHECKING:
    from asyncsink.options.sections import ConnectorOptions

SPARK_OPTIONS = frozenset({"checkpointlocation", "path", "queryname", "outputmode", "sink"})
"""Options that reach a data source and belong to Spark, or to the door through which the sink was asked for."""

DOOR_OPTIONS = ("allowComplete", "converter", "ledgerLocation", "stateLocation")
"""Options that the door to Spark takes out before a sink sees the others."""


class _Known(NamedTuple):
    section: type[ConnectorOptions]
    option: OptionField
    spelling: Alias


@dataclass(slots=True)
class _Given:
    """What was found for one section: values by field, and by place the key and the value that came first."""

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, tuple[str, Any]] = field(default_factory=dict)


def parse_options(options: Mapping[str, str], *sections: type[ConnectorOptions]) -> tuple[Any, ...]:
    """Read the strings that a user gave into one instance of each section.

    Keys compare without case, ``-`` and ``_``. What Spark itself owns is ignored.

    :raises ConfigurationError: an option is unknown, missing, unreadable, given twice with different values, or breaks
        a rule of its section; names the option and the remedy, and no secret
    """
    for section in sections:
        options = section.translated(options)
    known = _known(sections)
    given = {section: _Given() for section in sections}
    for key, text in options.items():
        found = _find(known, key)
        if found is not None:
            _add(given[found.section], found, key, text)
        elif folded(key) not in SPARK_OPTIONS:
            raise ConfigurationError(_unknown(key, sections))
    return tuple(_build(section, given[section].values) for section in sections)


def _known(sections: tuple[type[ConnectorOptions], ...]) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for section in sections:
        for option in option_fields(section):
            for spelling in option.spellings:
                _name(known, _Known(section, option, spelling))
    for section in sections:
        _lend(section, known)
    return known


def _lend(section: type[ConnectorOptions], known: dict[str, _Known]) -> None:
    """Add the aliases that a section has for options of others, if those are read too."""
    for name, alias in section.lent.items():
        found = known.get(folded(name))
        if found is not None:
            spelling = Alias(alias.name, alias.unit or found.option.unit)
            _name(known, _Known(found.section, found.option, spelling))


def _name(known: dict[str, _Known], new: _Known) -> None:
    other = known.setdefault(folded(new.spelling.name), new)
    if other.option is not new.option:
        raise TypeError(
            f"{new.spelling.name!r} names {new.section.__qualname__}.{new.option.field} and "
            f"{other.section.__qualname__}.{other.option.field}; rename one"
        )


def _find(known: Mapping[str, _Known], key: str) -> _Known | None:
    """The option of that name, or else the one with the longest prefix that fits."""
    if (found := known.get(folded(key))) is not None and found.option.prefix is None:
        return found
    parts = key.split(".")
    for count in range(len(parts) - 1, 0, -1):
        found = known.get(folded(".".join(parts[:count]) + "."))
        if found is not None and found.option.prefix is not None:
            return found
    return None


def _add(given: _Given, found: _Known, key: str, text: str) -> None:
    option = found.option
    if option.prefix is None:
        value = parse_value(option, key, text, found.spelling.unit)
        if _is_new(given, option, option.field, key, value):
            given.values[option.field] = value
        return
    name = key.split(".", found.spelling.name.count("."))[-1]
    if not name:
        raise ConfigurationError(f"option {key!r} names nothing after its prefix; write for example {key + 'name'!r}")
    # Spark has lower-cased the key; the spelling that a program gives is kept.
    if _is_new(given, option, f"{option.prefix}{name.lower()}", key, text):
        given.values.setdefault(option.field, {})[name] = text


def _is_new(given: _Given, option: OptionField, place: str, key: str, value: Any) -> bool:
    """Whether nothing was given in this place before; the same value under two names does no harm."""
    earlier, found = given.places.setdefault(place, (key, value))
    if found != value:
        raise ConfigurationError(
            f"options {earlier!r} = {option.shown(found)} and {key!r} = {option.shown(value)} are two names of "
            f"{option.name!r} with different values; give one of them"
        )
    return earlier == key


def _build(section: type[ConnectorOptions], values: Mapping[str, Any]) -> ConnectorOptions:
    for option in option_fields(section):
        if option.required and option.field not in values:
            raise ConfigurationError(f"option {option.name!r} is missing: {option.doc}")
    return section(**values)


def _unknown(key: str, sections: tuple[type[ConnectorOptions], ...]) -> str:
    for section in sections:
        for name, reason in section.refused.items():
            if folded(name) == folded(key):
                return f"option {key!r} is not supported: {reason}"
    names = [option.name for section in sections for option in option_fields(section)]
    # Only a slip brings it up: it is for streams in complete mode, and no answer to most unknown names.
    names.extend(name for name in DOOR_OPTIONS if is_near(key, name))
    return f"option {key!r} is not known; {did_you_mean(key, names)}"
