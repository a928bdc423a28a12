"""The list of connectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import AvailableConnector, available, connector_info, load_sink


@dataclass(frozen=True, slots=True)
class ListedConnector:
    """A line of the list; `status` is ``ok``, ``disabled``, or the error with its remedy."""

    connector: str
    distribution: str
    version: str
    guarantees: str
    status: str


def rows() -> list[ListedConnector]:
    """A line for each connector that is installed; each of them is loaded to see whether it can be."""
    return [_row(each) for each in available()]


def _row(connector: AvailableConnector) -> ListedConnector:
    guarantees, status = "", "disabled"
    if not connector.disabled:
        try:
            guarantees = ", ".join(connector_info(connector.name).guarantees)
            load_sink(connector.name)
            status = "ok"
        except ConfigurationError as error:
            status = str(error)
    return ListedConnector(
        connector.name, connector.distribution or "-", connector.version or "-", guarantees or "-", status
    )


def table(listed: Sequence[ListedConnector]) -> str:
    """The lines under their headings."""
    if not listed:
        return "no connector is installed; pip install asyncsink-http, for example"
    lines = [("connector", "distribution", "version", "guarantees", "status"), *map(astuple, listed)]
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[:-1]]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in lines
    )
