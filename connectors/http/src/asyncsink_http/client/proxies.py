"""Which proxy a request goes through: that of the options, else that of the environment."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from asyncsink_http.client.failures import proxy_error
from asyncsink_http.options import HttpOptions
from asyncsink_http.options.proxy_url import Proxy, parsed_proxy


class Proxies:
    """Finds the proxy for an address.

    What the environment says is read for each new connection, as it is where the tasks run.
    """

    def __init__(self, options: HttpOptions) -> None:
        self._given = options.proxy
        self._credentials = (options.proxy_username or "", options.proxy_password) if options.proxy_password else None
        self.source = "the environment" if options.proxy is None else "option 'proxy'"
        """Who names them."""

    def proxy_for(self, url: str) -> Proxy | None:
        """The proxy for requests to `url`; None to connect to its host.

        :raises RequestError: with the code PROXY, where none can be made of the text, which is not quoted
        """
        if self._given == "none":
            return None
        if self._given is not None:
            return replace(self._checked(self._given, url), credentials=self._credentials)
        parts = urlsplit(url)
        host = parts.hostname or ""
        if proxy_bypass(f"{host}:{parts.port}" if parts.port else host):
            return None
        found = getproxies()
        text = found.get(parts.scheme) or found.get("all")
        if not text:
            return None
        return self._checked(text if "://" in text else f"http://{text}", url)

    def _checked(self, text: str, url: str) -> Proxy:
        try:
            return parsed_proxy(text)
        except ValueError as error:
            raise proxy_error(self.source, url, str(error)) from None
