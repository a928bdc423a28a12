"""One option as its dataclass field describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

Unit = Literal["s", "ms", "bytes"]

_METADATA = "asyncsink"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an option; one with a `unit` of its own counts plain numbers in that."""

    name: str
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """A row of the options' reference: everything that a user wants to know of one option."""

    name: str
    aliases: tuple[str, ...]
    type: str
    default: str
    unit: str | None
    doc: str
    secret: bool


@dataclass(frozen=True, slots=True)
class OptionField:
    """One option, resolved: the name of its dataclass field, its canonical name, its type and how it is read."""

    field: str
    name: str
    kind: type
    optional: bool
    choices: tuple[str, ...]
    unit: Unit | None
    aliases: tuple[Alias, ...]
    prefix: str | None
    secret: bool
    doc: str
    default: Any

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def spellings(self) -> tuple[Alias, ...]:
        """Canonical name, aliases and the field's name, each with the unit in which it counts plain numbers.

        Errors of a configuration name its fields, such as ``retry.timeout_s``: what they name can be given.
        """
        named = [Alias(each.name, each.unit or self.unit) for each in self.aliases]
        if self.prefix is None:
            named.append(Alias(self.field, self.unit))
        if self.unit == "s":
            named.append(Alias(f"{self.name}_s", self.unit))
        return (Alias(self.name, self.unit), *named)

    def shown(self, value: Any) -> str:
        """A value as messages may show it."""
        return "'***'" if self.secret and value is not None else repr(value)

    def info(self) -> OptionInfo:
        default = "required" if self.required else "" if self.default in (None, {}) else str(self.default)
        if isinstance(self.default, bool):
            default = default.lower()
        aliases = tuple(f"{each.name} ({each.unit})" if each.unit else each.name for each in self.aliases)
        return OptionInfo(self.name, aliases, self._type(), default, self.unit, self.doc, self.secret)

    def _type(self) -> str:
        if self.choices:
            return " | ".join(self.choices)
        if self.unit is not None:
            return "size" if self.unit == "bytes" else "duration"
        return {str: "string", int: "integer", float: "number", bool: "boolean", dict: "prefix"}[self.kind]


def option(
    default: Any = MISSING,
    *,
    doc: str,
    name: str | None = None,
    aliases: Sequence[str | Alias] = (),
    unit: Literal["s", "bytes"] | None = None,
    secret: bool = False,
    choices: Sequence[str] | None = None,
    prefix: str | None = None,
) -> Any:
    """Declare a field of a :class:`~asyncsink.ConnectorOptions` dataclass.

    :param default: left out, the option is required
    :param doc: one or two sentences for users; the reference of the options is made of them
    :param name: the canonical name, if it is not the field's in camelCase without its unit
    :param aliases: other names, such as Flink's; an :class:`Alias` may count in a unit of its own
    :param unit: ``"s"``: numbers are seconds, and ``500ms``, ``1min`` are read too; ``"bytes"``: so are ``4mb``, ``1g``
    :param secret: the value is never shown
    :param choices: the values that are allowed, where a Literal cannot say it
    :param prefix: the field is a ``Mapping[str, str]`` of every option that starts with this, such as ``header.``
    """
    if prefix is not None and not prefix.endswith("."):
        raise TypeError(f"prefix {prefix!r} of an option must end with a dot")
    known = tuple(Alias(each) if isinstance(each, str) else each for each in aliases)
    described = {
        "name": prefix or name,
        "aliases": known,
        "unit": unit,
        "secret": secret,
        "choices": tuple(choices or ()),
        "prefix": prefix,
        "doc": doc,
    }
    if prefix is not None and default is MISSING:
        return field(default_factory=dict, metadata={_METADATA: described})
    return field(default=default, metadata={_METADATA: described})


def option_fields(section: type) -> tuple[OptionField, ...]:
    """The options that a section declares, in order.

    :raises TypeError: the section is no frozen dataclass of :func:`option` fields with readable types
    """
    return _resolve_all(section)


@cache
def _resolve_all(section: type) -> tuple[OptionField, ...]:
    parameters = section.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        raise TypeError(f"{section.__qualname__} must be decorated with @dataclass(frozen=True, kw_only=True)")
    hints = get_type_hints(section)
    return tuple(_resolve(section, each, hints[each.name]) for each in fields(section))


def _resolve(section: type, each: Field[Any], hint: Any) -> OptionField:
    described = each.metadata.get(_METADATA)
    if described is None:
        raise TypeError(f"{section.__qualname__}.{each.name} must be declared with option(...)")
    kind, optional, literals = _read_type(hint)
    if kind is None or (kind is dict) != (described["prefix"] is not None):
        raise TypeError(
            f"{section.__qualname__}.{each.name} is of type {hint}; an option is a str, int, float, bool, Literal of "
            "strings, one of these or None, or, with a prefix, a Mapping[str, str]"
        )
    resolved: dict[str, Any] = {
        "name": described["name"] or _canonical(each.name, described["unit"]),
        "choices": described["choices"] or literals,
        "default": {} if each.default is MISSING and kind is dict else each.default,
    }
    return OptionField(field=each.name, kind=kind, optional=optional, **{**described, **resolved})


def _read_type(hint: Any) -> tuple[type | None, bool, tuple[str, ...]]:
    """Type, whether None is allowed too, and the strings of a Literal."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        others = [each for each in arguments if each is not NoneType]
        kind, _, literals = _read_type(others[0]) if len(others) == 1 else (None, False, ())
        return kind, True, literals
    if origin is Literal and all(isinstance(each, str) for each in arguments):
        return str, False, arguments
    if origin in (Mapping, dict) and arguments == (str, str):
        return dict, False, ()
    return (cast(type, hint) if hint in (str, int, float, bool) else None), False, ()


def _canonical(name: str, unit: str | None) -> str:
    first, *rest = (name.removesuffix("_s") if unit == "s" else name).split("_")
    return first + "".join(part.capitalize() for part in rest)
