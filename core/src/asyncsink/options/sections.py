"""The base of every dataclass of options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar, Self

from asyncsink.errors import ConfigurationError
from asyncsink.options.fields import Alias, OptionInfo, option_fields
from asyncsink.options.names import did_you_mean
from asyncsink.options.parsing import parse_options
from asyncsink.options.values import check_value


class ConnectorOptions:
    """The options of a connector: the base of a ``@dataclass(frozen=True, kw_only=True)`` of :func:`option` fields.

    Programs give typed values to :meth:`of`, Spark gives strings to :meth:`from_options`; both raise
    ConfigurationError. A subclass checks its own rules in ``__post_init__``. Values of secret options are in no
    ``repr`` and in no message of an error.
    """

    refused: ClassVar[Mapping[str, str]] = {}
    """Names that users may bring from elsewhere, each with the sentence that says why not and what to use."""

    lent: ClassVar[Mapping[str, Alias]] = {}
    """Aliases for options of another section that is read with this one, such as the writer's, by canonical name."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        # The decorator writes a __repr__ that shows secrets, unless the class itself has one.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = ConnectorOptions.__repr__  # type: ignore[method-assign]

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Options from typed values by field name.

        :raises ConfigurationError: names the field and what is wrong with it
        """
        known = {option.field: option for option in option_fields(cls)}
        for name in values:
            if name not in known:
                raise ConfigurationError(f"option {name!r} is not known; {did_you_mean(name, known)}")
        for name, option in known.items():
            if option.required and name not in values:
                raise ConfigurationError(f"option {name!r} is missing: {option.doc}")
        return cls(**{name: check_value(known[name], name, value) for name, value in values.items()})

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """Options from the strings that a user wrote; see :func:`parse_options`."""
        own: Self = parse_options(options, cls)[0]
        return own

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        """The strings of a user with names from elsewhere turned into those of this connector and of its writer.

        Called before the options are read, for what an alias cannot say: where values change, too, or one name sets
        two options. By default nothing changes.

        :raises ConfigurationError: a value cannot be read, or contradicts another one
        """
        return options

    @classmethod
    def describe(cls) -> tuple[OptionInfo, ...]:
        """A row for each option, in order, as the reference shows them."""
        return tuple(option.info() for option in option_fields(cls))

    def fingerprint(self) -> str:
        """A SHA-256 digest over all values, secrets included: the same in every process, and one-way."""
        values = {option.field: getattr(self, option.field) for option in option_fields(type(self))}
        return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def __repr__(self) -> str:
        shown = (f"{each.field}={each.shown(getattr(self, each.field))}" for each in option_fields(type(self)))
        return f"{type(self).__qualname__}({', '.join(shown)})"
