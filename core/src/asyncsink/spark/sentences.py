"""Errors as Spark shows them: a traceback whose last line is one sentence of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from asyncsink.errors import AsyncSinkError


@contextmanager
def ours(doing: str) -> Iterator[None]:
    """Let only errors of asyncsink leave, each with a message of one line.

    Spark puts the worker's traceback into its own error and ``SQLSTATE`` behind it: the line above that is what users
    read. What else is raised is a bug and becomes the cause of an :class:`AsyncSinkError` that names it.
    """
    try:
        yield
    except AsyncSinkError as error:
        error.args = tuple(_one_line(each) if isinstance(each, str) else each for each in error.args)
        raise
    except Exception as error:
        raise AsyncSinkError(
            f"{doing} failed with {type(error).__name__}: {_one_line(str(error))}; this is a bug of the connector or "
            "of asyncsink, please report it with this traceback"
        ) from error


def _one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text or "\r" in text else text
