"""Options of connections."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions(ConnectorOptions):
    """How connections are opened."""

    connect_timeout_s: float = option(10.0, doc="Time for opening a connection, TLS included.", unit="s")

    def check_connection(self) -> None:
        """:raises ConfigurationError: an option of connections breaks its rule"""
        if self.connect_timeout_s <= 0:
            raise ConfigurationError(
                f"option 'connectTimeout' = {self.connect_timeout_s} must be larger than 0; give for example 10s"
            )
