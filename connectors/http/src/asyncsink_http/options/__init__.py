"""What a user may say: the connector's own options, and the names that Flink has for them."""

from asyncsink_http.options.http_options import HttpOptions

__all__ = ["HttpOptions"]
