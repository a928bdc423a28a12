"""From the options ``preset`` and ``preset.*`` to values of other options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from asyncsink.errors import ConfigurationError
from asyncsink.options.names import did_you_mean, folded

_PLACEHOLDER: Final = re.compile(r"\{[^{}]+\}")


@dataclass(frozen=True, slots=True)
class Preset:
    """What an API needs.

    :param path: what the path of ``url`` must end with, as a pattern
    :param example: such a URL
    :param names: of its own options, which follow ``preset.``
    :param values: the values of other options by their fields, for the values of its own
    """

    path: str
    example: str
    names: tuple[str, ...]
    values: Callable[[Mapping[str, str]], Mapping[str, Any]]

    def of(self, given: Mapping[str, str]) -> Mapping[str, Any]:
        """The values for what the user has given, whose names compare without case.

        :raises ConfigurationError: a name is unknown, or a value breaks its rule
        """
        known = {folded(name): name for name in self.names}
        own: dict[str, str] = {}
        for name, text in given.items():
            if folded(name) not in known:
                raise ConfigurationError(f"option 'preset.{name}' is not known; {did_you_mean(name, self.names)}")
            own[known[folded(name)]] = text
        return self.values(own)

    def check_url(self, name: str, url: str, shown: str) -> None:
        """:raises ConfigurationError: the path leads elsewhere"""
        if not re.search(self.path, urlsplit(url).path):
            raise ConfigurationError(
                f"option 'url' = {shown!r} is no address of preset={name}; write for example {self.example}"
            )


def json_of(name: str, text: str) -> str:
    """The part of a row's template that gives a JSON value: of a column for ``{column}``, else of the text itself.

    :raises ConfigurationError: the text has a place for a column in it, which would be sent as it stands
    """
    if _PLACEHOLDER.fullmatch(text):
        return text
    if _PLACEHOLDER.search(text):
        raise ConfigurationError(
            f"option 'preset.{name}' = {text!r} has a column within a text, and is either of them; make a column of "
            f"the whole, as by concat, and write its name in braces, as in {{{name}}}"
        )
    return json.dumps(text, ensure_ascii=False).replace("{", "{{").replace("}", "}}")


def column_of(name: str, text: str) -> str:
    """The placeholder that an option must be.

    :raises ConfigurationError: it is something else
    """
    if not _PLACEHOLDER.fullmatch(text):
        raise ConfigurationError(
            f"option 'preset.{name}' = {text!r} differs from row to row; write the name of its column in braces, as in "
            f"{{{name}}}"
        )
    return text
