"""Options of credentials: who sends."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.options.fields import option_fields
from asyncsink_http.options.authorization_options import AuthorizationOptions
from asyncsink_http.options.hmac_options import HmacOptions
from asyncsink_http.options.oauth2_options import OAuth2Options
from asyncsink_http.options.tls_options import TlsOptions


@dataclass(frozen=True, kw_only=True)
class AuthOptions(TlsOptions, HmacOptions, OAuth2Options, AuthorizationOptions):
    """The ways to say who sends, of which one may be used; signatures and TLS go beside any."""

    def check_auth(self, header_names: Collection[str], *, has_preset: bool) -> None:
        """Check who sends as a whole.

        :param header_names: of the headers that the user sets
        :param has_preset: whether the scheme of tokens may be a preset's, which holds where there is a token
        :raises ConfigurationError: what one way needs is missing, or there are several
        """
        self._check_empty()
        self.check_authorization()
        self.check_oauth2()
        self.check_hmac(header_names)
        self.check_tls()
        self._check_ways(header_names)
        if not has_preset:
            self._check_scheme()

    def _check_ways(self, header_names: Collection[str]) -> None:
        ways = {
            "bearerToken": self.bearer_token is not None,
            "bearerTokenFile": self.bearer_token_file is not None,
            "bearerTokenEnv": self.bearer_token_env is not None,
            "username": self.username is not None,
            "oauth2.tokenUrl": self.oauth2_token_url is not None,
            "auth": self.auth is not None,
            "header.Authorization": any(name.lower() == "authorization" for name in header_names),
            "hmac.header": self.hmac_header.lower() == "authorization",
        }
        given = [f"'{name}'" for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise ConfigurationError(f"options {' and '.join(given)} both say who sends; give one of them")

    def _check_scheme(self) -> None:
        tokens = (self.bearer_token, self.bearer_token_file, self.bearer_token_env, self.oauth2_token_url)
        if self.authorization_scheme is not None and tokens == (None,) * len(tokens):
            raise ConfigurationError(
                f"option 'authorizationScheme' = {self.authorization_scheme!r} stands before a token, and there is "
                "none; give bearerToken, bearerTokenFile, bearerTokenEnv or the oauth2.* options, or leave it out"
            )

    def _check_empty(self) -> None:
        """Refuse what is given and empty: a variable or a secret of a deployment that is not set, most likely."""
        for each in option_fields(AuthOptions):
            if each.default is None and getattr(self, each.field) == "" and each.field != "password":
                raise ConfigurationError(f"option {each.name!r} is empty; give a value, or leave it out")
