"""A request with its answer, for who wants to see all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from asyncsink.errors import ConfigurationError, RequestError
from asyncsink.plugins import load_given
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import RESPONSE_CALLBACK
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import HttpRequest


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """What a function of the option ``responseCallback`` is called with.

    :param request: as it was sent, but for credentials and the headers of the options, which may be secret
    :param answer: as it came, whatever it means; what a server repeats of the request is in it
    :param seconds: from sending the request to having read the answer
    """

    request: HttpRequest
    answer: HttpAnswer
    seconds: float


class ResponseCallback:
    """Calls the user's function, and says whose fault it is if that fails.

    :param redaction: hides what the function may quote of an answer
    :raises ConfigurationError: it does not load, or is no function to call
    """

    def __init__(self, path: str, redaction: Redaction) -> None:
        found: Any = load_given("option 'responseCallback' =", path)
        if not callable(found) or iscoroutinefunction(found):
            raise ConfigurationError(
                f"option 'responseCallback' = {path!r} names nothing that can be called with an HttpExchange; give a "
                "function, and none that is async"
            )
        self._path = path
        self._redaction = redaction
        self._callback: Callable[[HttpExchange], object] = found

    def __call__(self, exchange: HttpExchange) -> None:
        """Tell the user of an answer.

        :raises RequestError: the function has failed: a bug must not stay unseen
        """
        try:
            self._callback(exchange)
        except Exception as error:
            said = self._redaction.hide(f"{type(error).__name__}: {error}").rstrip(".")
            raise RequestError(RESPONSE_CALLBACK, f"{self._path} raised {said}.") from error


def response_callback_of(options: HttpOptions, redaction: Redaction) -> ResponseCallback | None:
    """What the options name, loaded: ask where the writers run.

    :raises ConfigurationError: it does not load, or is no function to call
    """
    return None if options.response_callback is None else ResponseCallback(options.response_callback, redaction)
