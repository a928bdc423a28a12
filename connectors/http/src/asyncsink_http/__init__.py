"""Rows to an HTTP API: ``format("asyncsink.http")`` in Spark, :class:`HttpSink` in any other program."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_http.answers.answer import HttpAnswer
    from asyncsink_http.answers.exchange import HttpExchange
    from asyncsink_http.options import HttpOptions
    from asyncsink_http.requests.request import HttpRequest
    from asyncsink_http.sink import HttpSink

    __version__: str

__all__ = ["HttpAnswer", "HttpExchange", "HttpOptions", "HttpRequest", "HttpSink"]

_MODULES = {
    "HttpAnswer": "answers.answer",
    "HttpExchange": "answers.exchange",
    "HttpOptions": "options",
    "HttpRequest": "requests.request",
    "HttpSink": "sink",
}


def __getattr__(name: str) -> Any:
    # Finding the connector imports this package first (PEP 562), and must not pay for more than that.
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_http.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-http")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_http' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
