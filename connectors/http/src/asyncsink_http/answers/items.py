"""Answers that judge each row: who reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink.request import RequestResult
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.elasticsearch import read_bulk
from asyncsink_http.answers.splunk_hec import read_hec
from asyncsink_http.options import HttpOptions

ItemResults = Callable[[HttpAnswer, int], RequestResult | None]
"""Reads an answer to a request of so many rows, and says which of them are not stored, by index.

It is asked about answers of 2xx and 400, unless the options move these elsewhere. None says that this answer judges no
single row: its status counts. A :class:`~asyncsink.Failure` without a kind has what its code stands for among the
statuses. What it raises makes the writer fail.
"""

_READERS: Final[Mapping[str, ItemResults]] = {"elasticsearch": read_bulk, "splunk-hec": read_hec}

_USUAL_BYTES: Final = 64 * 1024  # of an answer whose status says all: what follows can only be a text
_READ_BYTES: Final = 16 * 1024 * 1024  # of an answer that judges each row


def most_answer_bytes(options: HttpOptions) -> int:
    """How much a client should read of an answer; a longer one is cut."""
    return _USUAL_BYTES if options.item_results is None else _READ_BYTES


def item_results_of(options: HttpOptions) -> ItemResults | None:
    """The reader that resolved options name; a user's own is imported, so ask where the writers run.

    :raises ConfigurationError: it does not load, or is no function
    """
    name = options.item_results
    return None if name is None else _READERS.get(name) or _given(name)


@cache
def _given(path: str) -> ItemResults:
    found: Any = load_given("option 'itemResults' =", path)
    if not callable(found):
        raise ConfigurationError(
            f"option 'itemResults' = {path!r} names no function; give one of an answer and a number"
        )
    reader: ItemResults = found
    return reader
