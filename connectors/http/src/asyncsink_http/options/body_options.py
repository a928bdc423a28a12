"""Options of bodies: how many rows a request carries, in which form, and how they are packed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.header_rules import check_header_value


@dataclass(frozen=True, kw_only=True)
class BodyOptions(ConnectorOptions):
    """What a request carries."""

    body: Literal["json-array", "ndjson", "single"] | None = option(
        None,
        doc="What a request carries: json-array, the default, the rows as [a,b]; ndjson one row a line; single one "
        "row.",
    )
    content_type: str | None = option(
        None, doc="Content-Type; by default application/json, and application/x-ndjson for ndjson."
    )
    compression: Literal["none", "gzip"] = option("none", doc="Compression of the body; gzip works at level 1.")

    def check_body(self) -> None:
        """:raises ConfigurationError: an option of the body breaks its rule"""
        if self.content_type is not None:
            check_header_value("contentType", self.content_type)
