"""From options to what carries requests."""

from __future__ import annotations

from asyncsink.errors import ConfigurationError
from asyncsink_http.client.transport import Transport
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction


def transport_of(options: HttpOptions, redaction: Redaction) -> Transport:
    """What carries requests as the options say.

    :param redaction: learns what must not be shown
    :raises ConfigurationError: it needs a package that is not installed
    """
    if options.transport == "aiohttp":
        return _over_aiohttp(options, redaction)
    from asyncsink_http.client.httpcore_transport import HttpcoreTransport

    if options.http_version == "2":
        _check_http2()
    return HttpcoreTransport(options, redaction)


def _over_aiohttp(options: HttpOptions, redaction: Redaction) -> Transport:
    try:
        from asyncsink_http.client.aiohttp_transport import AiohttpTransport
    except ImportError as error:
        raise ConfigurationError(
            f"option 'transport' = 'aiohttp' needs aiohttp where the tasks run, and it cannot be imported: {error}; "
            "install asyncsink-http[aiohttp]"
        ) from error
    return AiohttpTransport(options, redaction)


def _check_http2() -> None:
    try:
        import h2.connection  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"option 'httpVersion' = '2' needs h2 where the tasks run, and it cannot be imported: {error}; install "
            "asyncsink-http[http2]"
        ) from error
