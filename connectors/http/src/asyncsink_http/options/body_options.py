"""Options of bodies: how many rows a request carries, in which form, and how they are packed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.header_rules import check_header_value

_LEVELS: Final[Mapping[str, range]] = {"gzip": range(1, 10), "zstd": range(1, 23)}
_TEMPLATE_FIELDS: Final[Mapping[str, str]] = {
    "template_prefix": "template.prefix",
    "template_separator": "template.separator",
    "template_suffix": "template.suffix",
    "template_row": "template.row",
}


@dataclass(frozen=True, kw_only=True)
class BodyOptions(ConnectorOptions):
    """What a request carries."""

    body: Literal["json-array", "ndjson", "single", "form", "template", "raw"] | None = option(
        None,
        doc="What a request carries: json-array the rows as [a,b]; ndjson one row a line; single one "
        "row; form one row's columns as form fields; template what the options template.* say; raw the bytes of one "
        "row's column body or value. By default json-array, but single where rows may be deletes, and where they are "
        "put or patched to a url with {column}.",
    )
    content_type: str | None = option(
        None,
        doc="Content-Type; by default application/x-ndjson for ndjson, application/x-www-form-urlencoded for form, "
        "application/octet-stream for raw, and application/json for all others.",
    )
    template_prefix: str | None = option(
        None,
        name="template.prefix",
        doc="With body=template: what stands before the first row; nothing by default.",
        aliases=["payload_prefix", "batch.prefix"],
    )
    template_separator: str | None = option(
        None,
        name="template.separator",
        doc="With body=template: what stands between two rows; a comma by default.",
        aliases=["batch.separator"],
    )
    template_suffix: str | None = option(
        None,
        name="template.suffix",
        doc="With body=template: what stands behind the last row; nothing by default.",
        aliases=["payload_suffix", "batch.suffix"],
    )
    template_row: str | None = option(
        None,
        name="template.row",
        doc="With body=template: the text of a row. {row}, the default, is its payload, and {column} the value of one "
        "column as JSON; {{ and }} are braces.",
    )
    compression: Literal["none", "gzip", "zstd"] = option(
        "none", doc="Compression of the body; zstd needs the extra zstd, or pyarrow."
    )
    compression_level: int | None = option(
        None, doc="Level of the compression: 1 to 9 for gzip, by default 1; 1 to 22 for zstd, by default 3."
    )

    def check_body(self) -> None:
        """:raises ConfigurationError: an option of the body breaks its rule"""
        if self.content_type is not None:
            check_header_value("contentType", self.content_type)
            if not self.content_type:
                raise ConfigurationError("option 'contentType' is empty; give a value, or leave it out")
        self._check_template()
        self._check_compression()

    def _check_template(self) -> None:
        # Whatever a preset leaves open is None here, and filled in before these options are checked again.
        if self.body == "template":
            from asyncsink_http.bodies.row_template import row_template

            row_template(self.template_row)
        if self.body in (None, "template"):
            return
        given = [name for field, name in _TEMPLATE_FIELDS.items() if getattr(self, field) is not None]
        if given:
            raise ConfigurationError(
                f"option {given[0]!r} says how body=template is written, and body is {self.body}; set body=template, "
                f"or leave {given[0]!r} out"
            )

    def _check_compression(self) -> None:
        if self.compression_level is not None:
            levels = _LEVELS.get(self.compression)
            if levels is None:
                raise ConfigurationError(
                    f"option 'compressionLevel' = {self.compression_level} has nothing to work on, as compression is "
                    "none; set compression=gzip or compression=zstd, or leave the level out"
                )
            if self.compression_level not in levels:
                raise ConfigurationError(
                    f"option 'compressionLevel' = {self.compression_level} is none of {self.compression}'s levels, "
                    f"which are {levels[0]} to {levels[-1]}"
                )
        if self.compression == "zstd" and find_spec("zstandard") is None and find_spec("pyarrow") is None:
            raise ConfigurationError(
                "option 'compression' = 'zstd' needs a library that is not installed: pip install "
                "'asyncsink-http[zstd]', or set compression=gzip"
            )
