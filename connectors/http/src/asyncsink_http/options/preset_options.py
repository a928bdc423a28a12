"""Options of presets: a name for all that a bulk API needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink.options.names import folded
from asyncsink_http.presets.known import PRESETS


@dataclass(frozen=True, kw_only=True)
class PresetOptions(ConnectorOptions):
    """Which API is written to; what the user sets besides counts before what its preset says."""

    preset: Literal["elasticsearch", "splunk-hec"] | None = option(
        None,
        doc="An API whose body, answers and credentials are known: elasticsearch, the _bulk of Elasticsearch and "
        "OpenSearch; splunk-hec, Splunk's HTTP event collector. Whatever else you set counts before it.",
    )
    preset_values: Mapping[str, str] = option(
        prefix="preset.",
        doc="What the preset does with a row: a text, or {column} for the value of a column. elasticsearch: action "
        "(index, create, update or delete), id, index, routing; splunk-hec: host, index, source, sourcetype, time.",
    )

    def check_preset(self, url: str, shown_url: str, body: str | None, template_row: str | None) -> None:
        """:raises ConfigurationError: an option of a preset breaks its rule, or something contradicts the preset"""
        if self.preset is None:
            if self.preset_values:
                raise ConfigurationError(
                    f"option 'preset.{next(iter(self.preset_values))}' is given without 'preset'; set preset to "
                    f"{' or '.join(PRESETS)}"
                )
            return
        made = self.of_preset()
        if self.preset_values and template_row not in (None, made["template_row"]):
            raise ConfigurationError(
                f"option 'preset.{next(iter(self.preset_values))}' would do nothing beside 'template.row', which says "
                "all of a row; write it into 'template.row', or leave one of them out"
            )
        PRESETS[self.preset].check_url(self.preset, url, shown_url)
        if body not in (None, "template"):
            raise ConfigurationError(
                f"option 'body' = {body!r} contradicts preset={self.preset}; leave one of them out"
            )

    @property
    def key_columns(self) -> list[str]:
        """The columns that identify what a row becomes: for a null the API makes another key each time it is sent."""
        return self._columns_of("id")

    @property
    def time_columns(self) -> list[str]:
        """The columns that say when something was, in seconds since 1970."""
        return self._columns_of("time")

    def _columns_of(self, own: str) -> list[str]:
        return [text.strip("{}") for name, text in self.preset_values.items() if folded(name) == own]

    def of_preset(self) -> Mapping[str, Any]:
        """What the preset says of other options, by their fields; nothing without one.

        :raises ConfigurationError: an option ``preset.*`` is unknown or breaks its rule
        """
        return {} if self.preset is None else PRESETS[self.preset].of(self.preset_values)
