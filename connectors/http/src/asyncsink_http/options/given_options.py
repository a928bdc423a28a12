"""Which options a user has given."""

from __future__ import annotations

from asyncsink.options import ConnectorOptions
from asyncsink.options.fields import OptionField, option_fields


def given_options(options: ConnectorOptions, *starts: str) -> list[OptionField]:
    """The options whose fields begin with one of `starts` and that are not at their defaults, in order."""
    found = [each for each in option_fields(type(options)) if each.field.startswith(starts)]
    return [each for each in found if getattr(options, each.field) != each.default]
