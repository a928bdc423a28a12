"""Options of credentials: who sends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.header_rules import check_header_value


@dataclass(frozen=True, kw_only=True)
class AuthOptions(ConnectorOptions):
    """The ways to say who sends, of which one may be used."""

    bearer_token: str | None = option(None, doc="Token of the header Authorization: Bearer.", secret=True)
    username: str | None = option(None, doc="Name for basic authentication; needs password too.")
    password: str | None = option(None, doc="Password for basic authentication; needs username too.", secret=True)

    def check_auth(self, header_names: Iterable[str]) -> None:
        """Check who sends as a whole.

        :param header_names: of the headers that the user sets
        :raises ConfigurationError: what one way needs is missing, or there are several
        """
        if self.bearer_token is not None:
            check_header_value("bearerToken", self.bearer_token)
        self._check_basic()
        ways = {
            "bearerToken": self.bearer_token is not None,
            "username": self.username is not None,
            "header.Authorization": any(name.lower() == "authorization" for name in header_names),
        }
        given = [f"'{name}'" for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise ConfigurationError(f"options {' and '.join(given)} both say who sends; give one of them")

    def _check_basic(self) -> None:
        if (self.username is None) != (self.password is None):
            given, missing = ("username", "password") if self.password is None else ("password", "username")
            raise ConfigurationError(f"option {given!r} is given without {missing!r}; basic authentication needs both")
        if self.username is not None and ":" in self.username:
            raise ConfigurationError("option 'username' holds a colon, which basic authentication cannot carry")
