"""From options to what carries requests."""

from __future__ import annotations

from asyncsink_http.client.transport import Transport
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction


def transport_of(options: HttpOptions, redaction: Redaction) -> Transport:
    """What carries requests as the options say.

    :param redaction: learns what must not be shown
    """
    from asyncsink_http.client.httpcore_transport import HttpcoreTransport

    return HttpcoreTransport(options, redaction)
