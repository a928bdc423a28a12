"""What a writer asks of its stream before it begins, and can do without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, TypeVar

import anyio

from asyncsink.errors import FatalRequestError, RequestError
from asyncsink.failures import ErrorTable, FailureKind
from asyncsink_aws.options import AwsOptions
from asyncsink_aws.request_errors import as_request_error

T = TypeVar("T")

ANSWER_TIMEOUT_S: Final = 10.0
"""Time for an answer that a writer can do without."""

Call = tuple[str, str, AwsOptions]
"""Service, operation and options, as :func:`~asyncsink_aws.request_errors.as_request_error` takes them."""


async def ask(
    described: Callable[[], Awaitable[Mapping[str, Any]]],
    call: Call,
    stream: str,
    errors: ErrorTable,
    *,
    denied: Collection[str],
    log_unknown: Callable[[Exception], None],
) -> Mapping[str, Any] | None:
    """The answer of a describing operation; None, and told to `log_unknown`, where a writer may work without.

    :param stream: how errors name the stream
    :param denied: codes of a sender who may not ask, and may still write
    :raises FatalRequestError: no writer can work: there is no such stream, or the sender is not known
    """
    try:
        with anyio.fail_after(ANSWER_TIMEOUT_S), as_request_error(*call):
            return await described()
    except RequestError as error:
        if error.code not in denied and errors.kind_of(error.code) is FailureKind.FATAL:
            said, remedy = str(error).rstrip("."), errors.remedy(error.code)
            raise FatalRequestError(f"{stream} cannot be written to: {said}. {remedy}") from error
        log_unknown(error)
    except (OSError, TimeoutError) as error:
        # Whether it is an outage is for the writer to find out, which has its own time for that.
        log_unknown(error)
    return None


async def settled(
    look: Callable[[], Awaitable[T | None]], is_being_made: Callable[[T], bool], *, timeout_s: float, poll_s: float
) -> T | None:
    """What a destination says of itself once it is no longer being made; None where it says nothing at all.

    :param look: asks it; None where there is no answer
    :raises TimeoutError: it was still being made after `timeout_s`
    """
    found = await look()
    with anyio.fail_after(timeout_s):
        while found is not None and is_being_made(found):
            await anyio.sleep(poll_s)
            answer = await look()
            # What is being made stays so until it says otherwise: rows that came too early would be refused.
            found = found if answer is None else answer
    return found
