"""From options to who sends."""

from __future__ import annotations

from asyncsink_http.auth.authorizer import Authorizer, Send
from asyncsink_http.auth.static import StaticCredentials, authorization
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction


def authorizer_of(options: HttpOptions, redaction: Redaction, fetch: Send) -> Authorizer:
    """What adds the credentials that the options name.

    The options' headers are added with them: any of these may hold a secret, such as an API's key.

    :param redaction: learns what must not be shown
    :param fetch: sends requests to others than the destination, without credentials
    """
    headers = dict(options.headers)
    if (credentials := authorization(options)) is not None:
        redaction.learn_header(credentials)
        headers = {"Authorization": credentials, **headers}
    return StaticCredentials([(name.encode(), value.encode("latin-1")) for name, value in headers.items()])
