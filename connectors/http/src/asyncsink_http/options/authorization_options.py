"""Options of the header Authorization: tokens that are given, names with passwords, and a user's own scheme."""

from __future__ import annotations

import re
from dataclasses import dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.answer_options import check_import_path
from asyncsink_http.options.header_rules import HEADER_NAME, check_header_value

# A name that a shell can set; what is none may be the token itself, which then must not be quoted.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class AuthorizationOptions(ConnectorOptions):
    """What the header Authorization is made of, where no endpoint is asked for it."""

    bearer_token: str | None = option(None, doc="Token of the header Authorization: Bearer.", secret=True)
    bearer_token_file: str | None = option(
        None, doc="File with that token, where tasks run; read again when it changes, and when the server answers 401."
    )
    bearer_token_env: str | None = option(
        None, doc="Environment variable with that token, where tasks run, such as by spark.executorEnv.<name>."
    )
    authorization_scheme: str | None = option(
        None, doc="What stands before a token in the header Authorization; Bearer by default."
    )
    username: str | None = option(
        None, doc="Name for basic authentication; needs password too.", aliases=["connection.user"]
    )
    password: str | None = option(
        None, doc="Password for basic authentication; needs username too.", aliases=["connection.password"], secret=True
    )
    auth: str | None = option(
        None,
        doc="Import path, as in package.module:Name, of an httpx.Auth, or of a class of one that needs no arguments. "
        "All of Spark's Pythons must have it.",
    )

    def check_authorization(self) -> None:
        """:raises ConfigurationError: an option of the header Authorization breaks its rule"""
        if self.bearer_token is not None:
            check_header_value("bearerToken", self.bearer_token)
        if self.bearer_token_env is not None and not _VARIABLE.fullmatch(self.bearer_token_env):
            raise ConfigurationError(
                "option 'bearerTokenEnv' names no environment variable; give the variable's name, such as API_TOKEN, "
                "and not the token, which is option 'bearerToken'"
            )
        if self.authorization_scheme is not None and not HEADER_NAME.fullmatch(self.authorization_scheme):
            raise ConfigurationError(
                f"option 'authorizationScheme' = {self.authorization_scheme!r} must be one word, such as Bearer"
            )
        if self.auth is not None:
            check_import_path("auth", self.auth)
        self._check_basic()

    def _check_basic(self) -> None:
        if (self.username is None) != (self.password is None):
            given, missing = ("username", "password") if self.password is None else ("password", "username")
            raise ConfigurationError(f"option {given!r} is given without {missing!r}; basic authentication needs both")
        if self.username is not None and ":" in self.username:
            raise ConfigurationError("option 'username' holds a colon, which basic authentication cannot carry")
