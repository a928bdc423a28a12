"""Options of signatures: the body under a key that both sides know (RFC 2104)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.given_options import given_options
from asyncsink_http.options.header_rules import HEADER_NAME, OWN_HEADERS, check_header_value


@dataclass(frozen=True, kw_only=True)
class HmacOptions(ConnectorOptions):
    """How requests are signed."""

    hmac_secret: str | None = option(
        None, name="hmac.secret", doc="Key under which every body is signed by HMAC, as it is sent.", secret=True
    )
    hmac_header: str = option("X-Signature", name="hmac.header", doc="Header of the signature.")
    hmac_algorithm: Literal["sha256", "sha512"] = option(
        "sha256", name="hmac.algorithm", doc="Hash that the signature is made with."
    )
    hmac_encoding: Literal["hex", "base64"] = option("hex", name="hmac.encoding", doc="How the signature is written.")
    hmac_prefix: str = option("", name="hmac.prefix", doc="What stands before the signature, such as sha256=.")
    hmac_timestamp_header: str | None = option(
        None,
        name="hmac.timestampHeader",
        doc="Header with the seconds since the epoch at which the request is sent; the signature is then that of "
        "<seconds>.<body>, and no recording of it serves later.",
    )

    def check_hmac(self, header_names: Iterable[str]) -> None:
        """Check how requests are signed.

        :param header_names: of the headers that the user sets
        :raises ConfigurationError: an option of the signature breaks its rule
        """
        given = given_options(self, "hmac_")
        if not given:
            return
        if not self.hmac_secret:
            raise ConfigurationError(
                f"option 'hmac.secret' is missing or empty, and {given[0].name!r} is given; signing needs a key"
            )
        taken = {name.lower() for name in header_names} | OWN_HEADERS.keys()
        self._check_header("hmac.header", self.hmac_header, taken)
        if self.hmac_timestamp_header is not None:
            self._check_header(
                "hmac.timestampHeader", self.hmac_timestamp_header, {*taken, self.hmac_header.lower(), "authorization"}
            )
        # What follows it is no blank: only its beginning may not be one.
        check_header_value("hmac.prefix", self.hmac_prefix.rstrip(" "))

    def _check_header(self, option_name: str, name: str, taken: Iterable[str]) -> None:
        if not HEADER_NAME.fullmatch(name):
            raise ConfigurationError(
                f"option '{option_name}' = {name!r} names no header; letters, digits and - are allowed"
            )
        if name.lower() in taken:
            raise ConfigurationError(
                f"option '{option_name}' = {name!r} is a header that is set otherwise; give another one"
            )
